#include "model/forward.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/check.h"
#include "kernels/attention.h"
#include "kernels/ops.h"

namespace lookback::model {
namespace {

kernels::RopePairing pairing(RopeLayout layout) {
  return layout == RopeLayout::kNeighbours ? kernels::RopePairing::kNeighbours : kernels::RopePairing::kHalves;
}

}  // namespace

Result<Forward> Forward::create(const ModelConfig& config, std::uint32_t n_ctx, const Weights& weights,
                                Precision precision, base::ThreadPool& pool) {
  Forward forward(config, weights, precision, pool);
  auto act = Activations::create(config);
  if (!act) return act.error();
  forward.act_ = std::move(*act);
  auto workspace = kernels::Workspace::create({.max_cols = std::max({config.n_embd, config.n_q(), config.n_ff}),
                                               .n_head = config.n_head,
                                               .n_kv_head = config.n_kv_head,
                                               .head_dim = config.head_dim,
                                               .max_positions = n_ctx},
                                              pool.n_threads());
  if (!workspace) return workspace.error();
  forward.workspace_ = std::move(*workspace);
  return forward;
}

// ---- the figure ----

void Forward::embed(std::span<const TokenId> ids, float* resid) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    weights_->embed_tokens.dequantize_row(static_cast<std::uint32_t>(ids[i]),
                                          {resid + i * config_.n_embd, config_.n_embd});
  }
}

Result<void> Forward::layer(std::uint32_t layer, const Block& block, float* resid, Trace* trace) {
  project(layer, block, resid);
  attend(layer, block);
  return finish(layer, block.n_rows(), resid, trace);
}

void Forward::project(std::uint32_t layer, const Block& block, const float* resid) {
  const LayerWeights& w = weights_->layers[layer];
  const std::uint32_t n_rows = block.n_rows();
  CHECK(n_rows >= 1 && n_rows <= kMaxRows, "a block fits the activations");
  if (block.cache == Block::Cache::kReadAll) return load_queries(layer, block);
  kernels::rms_norm({resid, config_.n_embd}, w.input_norm, config_.rms_eps, {act_.normed, config_.n_embd}, n_rows,
                    *pool_);

  const kernels::Product q{.weights = &w.q_proj, .y = act_.q, .y_stride = config_.n_q()};
  const kernels::Product k{.weights = &w.k_proj, .y = act_.k, .y_stride = config_.n_kv()};
  const kernels::Product v{.weights = &w.v_proj, .y = act_.v, .y_stride = config_.n_kv()};
  const kernels::Product products[] = {k, v, q};
  const std::span all(products);
  switch (block.cache) {
    case Block::Cache::kAppend:
      matmul(act_.normed, config_.n_embd, n_rows, all);
      break;
    case Block::Cache::kKeysOnly:
      matmul(act_.normed, config_.n_embd, n_rows, all.first(2));
      break;
    case Block::Cache::kRead:
      matmul(act_.normed, config_.n_embd, n_rows, all.last(1));
      break;
    case Block::Cache::kReadAll:
      break;
  }
  if (block.cache != Block::Cache::kKeysOnly) rope(act_.q, config_.n_head, block);
  if (block.cache == Block::Cache::kRead) return;
  rope(act_.k, config_.n_kv_head, block);
  store(layer, block);
}

void Forward::attend(std::uint32_t layer, const Block& block) {
  for (std::size_t s = 0; s < block.sequences.size(); ++s) {
    const auto k_pages = block.sequences[s]->k_pages(block.cache_layer(layer));
    const auto v_pages = block.sequences[s]->v_pages(block.cache_layer(layer));
    const std::size_t first_row = s * block.n_pos;
    kernels::attention({.n_head = config_.n_head,
                        .n_kv_head = config_.n_kv_head,
                        .head_dim = config_.head_dim,
                        .first_pos = block.first_pos,
                        .n_query = block.n_pos,
                        .q = act_.q + first_row * config_.n_q(),
                        .q_stride = config_.n_q(),
                        .k_pages = k_pages,
                        .v_pages = v_pages,
                        .cuts = block.switches->cut_links(layer),
                        .out = act_.attn_out + first_row * config_.n_q(),
                        .out_stride = config_.n_q()},
                       workspace_, *pool_);
  }
  for (const std::uint32_t head : block.switches->heads_off(layer)) {
    for (std::uint32_t row = 0; row < block.n_rows(); ++row) {
      std::fill_n(act_.attn_out + std::size_t{row} * config_.n_q() + std::size_t{head} * config_.head_dim,
                  config_.head_dim, 0.0f);
    }
  }
}

Result<void> Forward::finish(std::uint32_t layer, std::uint32_t n_rows, float* resid, Trace* trace) {
  const LayerWeights& w = weights_->layers[layer];
  const std::uint32_t n_embd = config_.n_embd;
  if (trace != nullptr) {
    CHECK(n_rows == 1, "a trace takes one row");
    std::copy_n(act_.attn_out, config_.n_q(), trace->attn_out + std::size_t{layer} * config_.n_q());
  }
  const kernels::Product o{.weights = &w.o_proj, .y = resid, .y_stride = n_embd, .write = kernels::Write::kAdd};
  matmul(act_.attn_out, config_.n_q(), n_rows, {&o, 1});
  if (trace != nullptr) std::copy_n(resid, n_embd, trace->resid_mid + std::size_t{layer} * n_embd);

  kernels::rms_norm({resid, n_embd}, w.post_attention_norm, config_.rms_eps, {act_.normed, n_embd}, n_rows, *pool_);
  const kernels::Product gate_up[] = {{.weights = &w.gate_proj, .y = act_.gate, .y_stride = config_.n_ff},
                                      {.weights = &w.up_proj, .y = act_.up, .y_stride = config_.n_ff}};
  matmul(act_.normed, n_embd, n_rows, gate_up);
  kernels::silu_mul({act_.gate, config_.n_ff}, {act_.up, config_.n_ff}, {act_.gate, config_.n_ff}, n_rows, config_.n_ff,
                    *pool_);
  const kernels::Product down{.weights = &w.down_proj, .y = resid, .y_stride = n_embd, .write = kernels::Write::kAdd};
  matmul(act_.gate, config_.n_ff, n_rows, {&down, 1});
  if (trace != nullptr) std::copy_n(resid, n_embd, trace->resid_post + (std::size_t{layer} + 1) * n_embd);

  if (kernels::all_finite({resid, std::size_t{n_rows} * n_embd})) return {};
  return Error{ErrorCode::kNonFinite,
               "the residual stream after layer " + std::to_string(layer) + " holds NaN or infinity", std::nullopt};
}

void Forward::final_norm(const float* hidden, std::size_t hidden_stride, std::uint32_t n_rows, float* normed) {
  kernels::rms_norm({hidden, hidden_stride}, weights_->final_norm, config_.rms_eps, {normed, config_.n_embd}, n_rows,
                    *pool_);
}

Result<void> Forward::logits(const float* hidden, std::size_t hidden_stride, std::uint32_t n_rows, float* logits) {
  CHECK(n_rows >= 1 && n_rows <= kMaxRows, "rows fit the activations");
  final_norm(hidden, hidden_stride, n_rows, act_.normed);
  const kernels::Product head{.weights = &weights_->lm_head(), .y = logits, .y_stride = config_.n_vocab};
  matmul(act_.normed, config_.n_embd, n_rows, {&head, 1});
  if (kernels::all_finite({logits, std::size_t{n_rows} * config_.n_vocab})) return {};
  return Error{ErrorCode::kNonFinite, "the logits hold NaN or infinity, though every layer was finite", std::nullopt};
}

// ---- its parts ----

void Forward::matmul(const float* x, std::size_t n_cols, std::uint32_t n_rows,
                     std::span<const kernels::Product> products) {
  kernels::matmul({.x = x, .x_stride = n_cols, .n_tokens = n_rows}, products,
                  precision_ == Precision::kExact ? kernels::Precision::kExact : kernels::Precision::kFast, workspace_,
                  *pool_);
}

void Forward::rope(float* x, std::uint32_t n_head, const Block& block) {
  // A block asks twice a layer, for many layers: the angles stay.
  const std::size_t n_angles = std::size_t{block.n_pos} * config_.head_dim;
  if (rope_first_ != block.first_pos || rope_n_ != block.n_pos) {
    rope_table_.resize(n_angles);
    kernels::rope_table(static_cast<double>(config_.rope_base), config_.head_dim, block.first_pos, block.n_pos,
                        rope_table_);
    rope_first_ = block.first_pos;
    rope_n_ = block.n_pos;
  }
  const std::size_t width = std::size_t{n_head} * config_.head_dim;
  for (std::size_t s = 0; s < block.sequences.size(); ++s) {
    kernels::rope({x + s * block.n_pos * width, width}, block.n_pos, n_head, config_.head_dim, rope_table_,
                  pairing(config_.rope_layout), *pool_);
  }
}

/// Keys and values [row, head, head_dim] → the caches' [head, position, head_dim]; queries too where they are kept.
void Forward::store(std::uint32_t layer, const Block& block) {
  const std::uint32_t cache_layer = block.cache_layer(layer);
  const std::uint32_t head_dim = config_.head_dim;
  for (std::size_t s = 0; s < block.sequences.size(); ++s) {
    KvCache& cache = *block.sequences[s];
    for (std::uint32_t i = 0; i < block.n_pos; ++i) {
      const std::size_t row = s * block.n_pos + i;
      const std::uint32_t pos = block.first_pos + i;
      for (std::uint32_t head = 0; head < config_.n_kv_head; ++head) {
        const std::size_t from = row * config_.n_kv() + std::size_t{head} * head_dim;
        std::copy_n(act_.k + from, head_dim, cache.k(cache_layer, head, pos));
        std::copy_n(act_.v + from, head_dim, cache.v(cache_layer, head, pos));
      }
      for (std::uint32_t head = 0; head < cache.shape().n_head; ++head) {
        const std::size_t from = row * config_.n_q() + std::size_t{head} * head_dim;
        std::copy_n(act_.q + from, head_dim, cache.q(cache_layer, head, pos));
      }
    }
  }
}

/// The caches' queries [head, position, head_dim] → act.q [row, head, head_dim].
void Forward::load_queries(std::uint32_t layer, const Block& block) {
  const std::uint32_t head_dim = config_.head_dim;
  for (std::size_t s = 0; s < block.sequences.size(); ++s) {
    const KvCache& cache = *block.sequences[s];
    for (std::uint32_t i = 0; i < block.n_pos; ++i) {
      float* row = act_.q + (s * block.n_pos + i) * config_.n_q();
      for (std::uint32_t head = 0; head < config_.n_head; ++head, row += head_dim) {
        std::copy_n(cache.q(block.cache_layer(layer), head, block.first_pos + i), head_dim, row);
      }
    }
  }
}

}  // namespace lookback::model
