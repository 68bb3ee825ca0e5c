#include "model/effects.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "model/distribution.h"

namespace lookback::model {
namespace {

/// Multiply-adds of one row through one layer, and of its logits.
double layer_work(const ModelConfig& config) {
  const double attention = 2.0 * (config.n_q() + config.n_kv());
  return config.n_embd * (attention + 3.0 * config.n_ff);
}

double logits_work(const ModelConfig& config) { return static_cast<double>(config.n_embd) * config.n_vocab; }

}  // namespace

Result<Effects> Effects::create(Forward& forward, KeptPass pass, TokenId token, std::uint32_t pos) {
  const ModelConfig& config = forward.config();
  Effects effects(config, std::move(pass), token, pos);
  const std::uint64_t n_pos = std::uint64_t{pos} + 1;
  const struct {
    base::AlignedBuffer* buffer;
    std::uint64_t n_floats;
  } buffers[] = {
      {&effects.clean_, n_pos * config.n_embd},
      {&effects.heads_, n_pos * config.n_q()},
      {&effects.variants_, n_pos * config.n_head * config.n_embd},
      {&effects.rows_, std::uint64_t{kMaxRows} * config.n_embd},
  };
  for (const auto& [buffer, n_floats] : buffers) {
    auto memory = base::AlignedBuffer::create(n_floats * sizeof(float), "the streams of effects");
    if (!memory) return memory.error();
    *buffer = std::move(*memory);
  }
  const KvCache::Shape one_layer{.n_layer = 1, .n_head = 0, .n_kv_head = config.n_kv_head, .head_dim = config.head_dim};
  for (std::uint32_t head = 0; head < config.n_head; ++head) {
    effects.caches_.emplace_back(one_layer);
    LOOKBACK_TRY(effects.caches_.back().append(pos + 1));
  }
  auto logits = Array<float>::create(std::size_t{config.n_head} * config.n_vocab, "logits");
  if (!logits) return logits.error();
  effects.logits_ = std::move(*logits);

  LOOKBACK_TRY(forward.logits(effects.pass_.cache.hidden(pos), config.n_embd, 1, effects.logits_.span().data()));
  auto clean = KlFrom::create(effects.logits_.span().first(config.n_vocab));
  if (!clean) return clean.error();
  effects.clean_distribution_ = std::move(*clean);
  forward.embed(std::span(effects.pass_.ids).first(effects.n_pos()), effects.clean_stream(0));
  return effects;
}

Result<EffectsStatus> Effects::step(Forward& forward) {
  EffectsStatus status;
  const double budget = kMaxRows * layer_work(config_);
  double work = 0;
  while (stage_ != Stage::kDone && work < budget) LOOKBACK_TRY(run_block(forward, &work, &status.rows));
  status.done = stage_ == Stage::kDone;
  return status;
}

Result<void> Effects::run_block(Forward& forward, double* work, std::vector<EffectRow>* rows) {
  // Below the last layer all positions count, for later ones read them; in it only the asked one does.
  const bool one_position = layer_ == last_layer() && stage_ != Stage::kLogits;
  const std::uint32_t first = one_position ? pos_ : next_pos_;
  const bool one_stream = stage_ == Stage::kClean || stage_ == Stage::kAdvance;
  const std::uint32_t n = std::min(n_pos() - first, one_stream ? kMaxRows : kMaxRows / config_.n_head);
  const std::uint32_t n_rows = one_stream ? n : n * config_.n_head;
  switch (stage_) {
    case Stage::kClean:
      LOOKBACK_TRY(clean_block(forward, first, n));
      *work += 0.1 * n_rows * layer_work(config_);
      break;
    case Stage::kAblate:
      LOOKBACK_TRY(ablate_block(forward, first, n));
      *work += n_rows * layer_work(config_);
      break;
    case Stage::kLater:
      LOOKBACK_TRY(later_block(forward, first, n));
      *work += n_rows * layer_work(config_);
      break;
    case Stage::kLastKeys:
      LOOKBACK_TRY(later_block(forward, first, n));
      *work += 0.1 * n_rows * layer_work(config_);
      break;
    case Stage::kLogits:
      LOOKBACK_TRY(logits_block(forward, rows));
      *work += config_.n_head * (layer_work(config_) + logits_work(config_));
      next_stage();
      return {};
    case Stage::kAdvance:
      LOOKBACK_TRY(advance_block(forward, first, n));
      *work += n_rows * layer_work(config_);
      break;
    case Stage::kDone:
      return {};
  }
  next_pos_ = first + n;
  if (next_pos_ == n_pos()) next_stage();
  return {};
}

void Effects::next_stage() {
  next_pos_ = 0;
  switch (stage_) {
    case Stage::kClean:
      stage_ = Stage::kAblate;
      break;
    case Stage::kAblate:
      at_layer_ = layer_ + 1;
      stage_ = layer_ == last_layer() ? Stage::kLogits : at_layer_ == last_layer() ? Stage::kLastKeys : Stage::kLater;
      break;
    case Stage::kLater:
      ++at_layer_;
      stage_ = at_layer_ == last_layer() ? Stage::kLastKeys : Stage::kLater;
      break;
    case Stage::kLastKeys:
      stage_ = Stage::kLogits;
      break;
    case Stage::kLogits:
      stage_ = layer_ == last_layer() ? Stage::kDone : Stage::kAdvance;
      break;
    case Stage::kAdvance:
      ++layer_;
      stage_ = Stage::kClean;
      break;
    case Stage::kDone:
      break;
  }
}

Result<void> Effects::clean_block(Forward& forward, std::uint32_t first, std::uint32_t n) {
  KvCache* const sequence = &pass_.cache;
  const Block block{.sequences = {&sequence, 1},
                    .first_pos = first,
                    .n_pos = n,
                    .switches = &pass_.switches,
                    .cache = Block::Cache::kReadAll};
  forward.project(layer_, block, clean_stream(first));
  forward.attend(layer_, block);
  std::copy_n(forward.activations().attn_out, std::size_t{n} * config_.n_q(), clean_heads(first));
  return {};
}

Result<void> Effects::ablate_block(Forward& forward, std::uint32_t first, std::uint32_t n) {
  Activations& act = forward.activations();
  for (std::uint32_t head = 0; head < config_.n_head; ++head) {
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t row = head * n + i;
      float* heads = act.attn_out + std::size_t{row} * config_.n_q();
      std::copy_n(clean_heads(first + i), config_.n_q(), heads);
      std::fill_n(heads + std::size_t{head} * config_.head_dim, config_.head_dim, 0.0f);
      std::copy_n(clean_stream(first + i), config_.n_embd, block_row(row));
    }
  }
  LOOKBACK_TRY(forward.finish(layer_, config_.n_head * n, block_row(0)));
  scatter(first, n);
  return {};
}

Result<void> Effects::later_block(Forward& forward, std::uint32_t first, std::uint32_t n) {
  gather(first, n);
  sequences_.clear();
  for (auto& cache : caches_) sequences_.push_back(&cache);
  const Block block{.sequences = sequences_,
                    .first_pos = first,
                    .n_pos = n,
                    .switches = &pass_.switches,
                    .cache = stage_ == Stage::kLastKeys ? Block::Cache::kKeysOnly : Block::Cache::kAppend,
                    .span = Block::Span::kOneLayer};
  if (stage_ == Stage::kLastKeys) {
    forward.project(at_layer_, block, block_row(0));
    return {};
  }
  LOOKBACK_TRY(forward.layer(at_layer_, block, block_row(0)));
  scatter(first, n);
  return {};
}

Result<void> Effects::logits_block(Forward& forward, std::vector<EffectRow>* rows) {
  gather(pos_, 1);
  if (layer_ != last_layer()) {
    sequences_.clear();
    for (auto& cache : caches_) sequences_.push_back(&cache);
    const Block block{.sequences = sequences_,
                      .first_pos = pos_,
                      .n_pos = 1,
                      .switches = &pass_.switches,
                      .cache = Block::Cache::kRead,
                      .span = Block::Span::kOneLayer};
    LOOKBACK_TRY(forward.layer(last_layer(), block, block_row(0)));
  }
  LOOKBACK_TRY(forward.logits(block_row(0), config_.n_embd, config_.n_head, logits_.span().data()));
  for (std::uint32_t head = 0; head < config_.n_head; ++head) {
    const auto ablated = std::as_const(logits_).span().subspan(std::size_t{head} * config_.n_vocab, config_.n_vocab);
    const double log_sum = log_sum_exp(ablated);
    rows->push_back({.layer = layer_,
                     .head = head,
                     .probability = std::exp(static_cast<double>(ablated[static_cast<std::size_t>(token_)]) - log_sum),
                     .kl = clean_distribution_.to(ablated, log_sum)});
  }
  return {};
}

Result<void> Effects::advance_block(Forward& forward, std::uint32_t first, std::uint32_t n) {
  std::copy_n(clean_heads(first), std::size_t{n} * config_.n_q(), forward.activations().attn_out);
  return forward.finish(layer_, n, clean_stream(first));
}

float* Effects::clean_stream(std::uint32_t pos) {
  return clean_.as<float>().data() + std::size_t{pos} * config_.n_embd;
}
float* Effects::clean_heads(std::uint32_t pos) { return heads_.as<float>().data() + std::size_t{pos} * config_.n_q(); }
float* Effects::block_row(std::uint32_t row) { return rows_.as<float>().data() + std::size_t{row} * config_.n_embd; }

void Effects::gather(std::uint32_t first, std::uint32_t n) {
  const std::size_t n_embd = config_.n_embd;
  for (std::uint32_t head = 0; head < config_.n_head; ++head) {
    const float* from = variants_.as<float>().data() + (std::size_t{head} * n_pos() + first) * n_embd;
    std::copy_n(from, n * n_embd, block_row(head * n));
  }
}

void Effects::scatter(std::uint32_t first, std::uint32_t n) {
  const std::size_t n_embd = config_.n_embd;
  for (std::uint32_t head = 0; head < config_.n_head; ++head) {
    float* to = variants_.as<float>().data() + (std::size_t{head} * n_pos() + first) * n_embd;
    std::copy_n(block_row(head * n), n * n_embd, to);
  }
}

}  // namespace lookback::model
