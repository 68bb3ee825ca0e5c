// Forward: the pass itself, layer by layer over a block of rows. The one place where the network's formula stands.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "kernels/matmul.h"
#include "lookback/types.h"
#include "model/activations.h"
#include "model/kv_cache.h"
#include "model/switches.h"
#include "model/trace.h"
#include "model/weights.h"

namespace lookback::model {

/// A block of rows: n_pos consecutive positions of each sequence, sequence after sequence.
struct Block {
  std::span<KvCache* const> sequences;  ///< where keys and values of each sequence are
  std::uint32_t first_pos = 0;
  std::uint32_t n_pos = 0;
  const Switches* switches = nullptr;

  /// kAppend writes keys and values (and queries that the cache keeps) of the block's positions, which the caches have
  /// room for. kKeysOnly does that and computes no queries. kRead takes them as they are kept: a position run again.
  /// kReadAll takes the queries from there too.
  enum class Cache { kAppend, kKeysOnly, kRead, kReadAll } cache = Cache::kAppend;
  /// The caches hold one layer and are used again for each.
  enum class Span { kAllLayers, kOneLayer } span = Span::kAllLayers;

  std::uint32_t n_rows() const { return static_cast<std::uint32_t>(sequences.size()) * n_pos; }
  std::uint32_t cache_layer(std::uint32_t layer) const { return span == Span::kOneLayer ? 0 : layer; }
};

class Forward {
 public:
  /// weights and pool outlive the object. Errors: out_of_memory.
  static Result<Forward> create(const ModelConfig& config, std::uint32_t n_ctx, const Weights& weights,
                                Precision precision, base::ThreadPool& pool);

  const ModelConfig& config() const { return config_; }
  const Weights& weights() const { return *weights_; }
  base::ThreadPool& pool() const { return *pool_; }

  /// resid [n, n_embd] = embed_tokens[ids]. ids are in range.
  void embed(std::span<const TokenId> ids, float* resid);

  /// resid [n_rows, n_embd] through one layer, in place. trace, if any, takes the only row.
  /// Errors: non_finite, naming the layer.
  Result<void> layer(std::uint32_t layer, const Block& block, float* resid, Trace* trace = nullptr);

  // The three parts of layer(), for whoever runs them apart. What passes between them is in activations().

  /// rms_norm · q/k/v_proj · rope; keys and values go into the caches.
  void project(std::uint32_t layer, const Block& block, const float* resid);
  /// attention, then zeros for the heads that are off: q → attn_out.
  void attend(std::uint32_t layer, const Block& block);
  /// o_proj · add · rms_norm · gate/up_proj · silu × · down_proj · add: attn_out → resid.
  Result<void> finish(std::uint32_t layer, std::uint32_t n_rows, float* resid, Trace* trace = nullptr);
  Activations& activations() { return act_; }

  /// logits [n_rows, n_vocab] = lm_head · rms_norm(hidden); n_rows at most kMaxRows.
  /// Errors: non_finite.
  Result<void> logits(const float* hidden, std::size_t hidden_stride, std::uint32_t n_rows, float* logits);

  /// logits of the residual stream after any layer; the norm's scale is that row's own.
  /// normed [n_embd] is what lm_head multiplies.
  void final_norm(const float* hidden, std::size_t hidden_stride, std::uint32_t n_rows, float* normed);

 private:
  Forward(const ModelConfig& config, const Weights& weights, Precision precision, base::ThreadPool& pool)
      : config_(config), weights_(&weights), pool_(&pool), precision_(precision) {}

  void matmul(const float* x, std::size_t n_cols, std::uint32_t n_rows, std::span<const kernels::Product> products);
  void rope(float* x, std::uint32_t n_head, const Block& block);
  void store(std::uint32_t layer, const Block& block);
  void load_queries(std::uint32_t layer, const Block& block);

  ModelConfig config_;
  const Weights* weights_;
  base::ThreadPool* pool_;
  Precision precision_;
  Activations act_;
  kernels::Workspace workspace_;
  std::vector<float> rope_table_;  // [rope_n_, head_dim/2, 2] from position rope_first_
  std::uint32_t rope_first_ = 0;
  std::uint32_t rope_n_ = 0;
};

}  // namespace lookback::model
