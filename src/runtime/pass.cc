#include <algorithm>
#include <string>

#include "base/check.h"
#include "lookback/engine.h"
#include "model/attention_rows.h"
#include "model/distribution.h"
#include "model/head_stats.h"
#include "model/run_again.h"
#include "runtime/state.h"

namespace lookback {
namespace {

// Slices of work that one step does: as many layers as make up a full block.
constexpr std::uint32_t kSliceRows = model::kMaxRows;

Error wrong_state(const char* message) { return {ErrorCode::kWrongState, message, std::nullopt}; }
Error bad_argument(std::string message) { return {ErrorCode::kBadArgument, std::move(message), std::nullopt}; }

Result<void> check_index(const char* name, std::uint32_t value, std::uint32_t n) {
  if (value < n) return {};
  return bad_argument(std::string(name) + " is " + std::to_string(value) + ", expected 0 to " + std::to_string(n - 1));
}

Result<void> check_finished(const Pass::State& state) {
  if (state.failed) return *state.failed;
  if (!state.pending.empty()) return wrong_state("the pass is still running");
  if (state.kept.length() == 0) return wrong_state("the pass holds no tokens");
  return {};
}

Result<void> check_position(const Pass::State& state, const char* name, std::uint32_t pos) {
  LOOKBACK_TRY(check_finished(state));
  return check_index(name, pos, state.kept.length());
}

Result<void> check_rows(const Pass::State& state) {
  LOOKBACK_TRY(check_finished(state));
  if (state.kept.cache.shape().n_head == 0) return wrong_state("the pass kept no queries: it ran with keep 'none'");
  return {};
}

Result<void> check_row(const Pass::State& state, std::uint32_t layer, std::uint32_t head, std::uint32_t query) {
  LOOKBACK_TRY(check_rows(state));
  LOOKBACK_TRY(check_index("layer", layer, state.engine->config.n_layer));
  LOOKBACK_TRY(check_index("head", head, state.engine->config.n_head));
  return check_index("query", query, state.kept.length());
}

Result<void> check_token(const Pass::State& state, TokenId token) {
  const std::uint32_t n_vocab = state.engine->config.n_vocab;
  if (token >= 0 && static_cast<std::uint32_t>(token) < n_vocab) return {};
  return Error{ErrorCode::kBadToken,
               "token id " + std::to_string(token) + ", expected 0 to " + std::to_string(n_vocab - 1), std::nullopt};
}

/// Makes room for tokens and lets step() run them.
Result<void> queue(Pass::State& state, std::span<const TokenId> ids) {
  if (state.resid.size_bytes() == 0) {
    const std::uint64_t n_floats = std::uint64_t{model::kMaxRows} * state.engine->config.n_embd;
    auto resid = base::AlignedBuffer::create(n_floats * sizeof(float), "the residual stream of a block");
    if (!resid) return resid.error();
    state.resid = std::move(*resid);
  }
  LOOKBACK_TRY(state.kept.cache.append(static_cast<std::uint32_t>(ids.size())));
  state.pending.assign(ids.begin(), ids.end());
  return {};
}

/// The next block of pending tokens: its stream, and the layer to begin with.
void begin_block(Pass::State& state) {
  const std::uint32_t n_embd = state.engine->config.n_embd;
  const std::uint32_t first_pos = state.kept.length();
  model::KvCache& cache = state.kept.cache;
  float* resid = state.resid.as<float>().data();
  state.block_n = static_cast<std::uint32_t>(std::min<std::size_t>(state.pending.size(), model::kMaxRows));
  state.layer = 0;
  if (state.lower) {
    const std::uint32_t n_layer = std::min(state.lower->layer + 1, cache.shape().n_layer);
    const std::uint32_t n_stream = std::min(state.lower->layer / model::kStreamLayers, cache.shape().n_stream - 1);
    cache.copy_lower(state.lower->cache, first_pos, state.block_n, n_layer, n_stream);
    state.layer = n_stream * model::kStreamLayers;
  }
  if (state.layer == 0) return state.engine->forward->embed(std::span(state.pending).first(state.block_n), resid);
  for (std::uint32_t i = 0; i < state.block_n; ++i) {
    const float* stream = std::as_const(cache).stream(state.layer / model::kStreamLayers - 1, first_pos + i);
    std::copy_n(stream, n_embd, resid + std::size_t{i} * n_embd);
  }
}

/// logits [n_vocab] of a position, kept until another's are read.
Result<std::span<const float>> logits_of(Pass::State& state, std::uint32_t pos) {
  LOOKBACK_TRY(check_position(state, "position", pos));
  if (state.logits.size() == 0 || state.logits_pos != pos) {
    const ModelConfig& config = state.engine->config;
    auto logits = Array<float>::create(config.n_vocab, "logits");
    if (!logits) return logits.error();
    LOOKBACK_TRY(state.engine->forward->logits(std::as_const(state.kept.cache).hidden(pos), config.n_embd, 1,
                                               logits->span().data()));
    state.logits = std::move(*logits);
    state.logits_pos = pos;
  }
  return std::as_const(state.logits).span();
}

model::AttentionRows rows_of(const Pass::State& state) {
  return {state.engine->config, state.kept, state.engine->pool};
}

}  // namespace

Pass::Pass(std::unique_ptr<State> state) : state_(std::move(state)) {}
Pass::~Pass() = default;

// ---- running ----

Result<void> Pass::begin(std::span<const TokenId> ids) {
  State& state = *state_;
  if (state.failed) return *state.failed;
  if (!state.pending.empty()) return wrong_state("the pass is still running");
  if (ids.empty()) return Error{ErrorCode::kEmptyPrompt, "no tokens to run, expected at least one", std::nullopt};
  for (const TokenId id : ids) LOOKBACK_TRY(check_token(state, id));
  const std::uint32_t n_ctx = state.engine->n_ctx;
  if (ids.size() > n_ctx - state.kept.length()) {
    return Error{
        ErrorCode::kContextFull,
        std::to_string(state.kept.length() + ids.size()) + " tokens, but the context holds " + std::to_string(n_ctx),
        std::nullopt};
  }
  return queue(state, ids);
}

Result<std::unique_ptr<Pass>> Pass::switched(std::uint32_t n, std::span<const Off> off) const {
  LOOKBACK_TRY(check_rows(*state_));
  if (n == 0 || n > length()) {
    return bad_argument("the first " + std::to_string(n) + " positions of a pass of " + std::to_string(length()));
  }
  const ModelConfig& config = state_->engine->config;
  auto switches = model::Switches::create(config, off);
  if (!switches) return switches.error();
  const std::uint32_t layer = state_->kept.switches.first_difference(*switches, config.n_layer);
  auto state =
      std::unique_ptr<State>(new State{.engine = state_->engine,
                                       .kept = {{}, std::move(*switches), model::KvCache(state_->kept.cache.shape())},
                                       .lower = State::Lower{state_->kept.cache.fork(n), layer}});
  LOOKBACK_TRY(queue(*state, std::span(state_->kept.ids).first(n)));
  return std::unique_ptr<Pass>(new Pass(std::move(state)));
}

Result<StepStatus> Pass::step() {
  State& state = *state_;
  if (state.failed) return *state.failed;
  model::Forward& forward = *state.engine->forward;
  const ModelConfig& config = state.engine->config;
  float* resid = state.resid.as<float>().data();
  model::KvCache& cache = state.kept.cache;
  model::KvCache* const sequence = &cache;

  std::uint32_t work = 0;  // rows × layers
  while (!state.pending.empty() && work < kSliceRows) {
    if (state.block_n == 0) begin_block(state);
    const std::uint32_t first_pos = state.kept.length();
    // A head that is off leaves its own layer's queries, keys and values alone.
    const bool as_below = state.lower && state.layer <= state.lower->layer;
    const model::Block block{.sequences = {&sequence, 1},
                             .first_pos = first_pos,
                             .n_pos = state.block_n,
                             .switches = &state.kept.switches,
                             .cache = as_below ? model::Block::Cache::kReadAll : model::Block::Cache::kAppend};
    if (auto result = forward.layer(state.layer, block, resid); !result) {
      state.failed = result.error();
      return *state.failed;
    }
    work += state.block_n;
    ++state.layer;
    const bool through = state.layer == config.n_layer;
    if (through || state.layer % model::kStreamLayers == 0) {
      const std::uint32_t stream = through ? cache.shape().n_stream - 1 : state.layer / model::kStreamLayers - 1;
      if (stream < cache.shape().n_stream) {
        for (std::uint32_t i = 0; i < state.block_n; ++i) {
          std::copy_n(resid + std::size_t{i} * config.n_embd, config.n_embd, cache.stream(stream, first_pos + i));
        }
      }
    }
    if (!through) continue;

    const auto done = state.pending.begin() + static_cast<std::ptrdiff_t>(state.block_n);
    state.kept.ids.insert(state.kept.ids.end(), state.pending.begin(), done);
    state.pending.erase(state.pending.begin(), done);
    state.block_n = 0;
  }
  if (state.pending.empty()) state.lower.reset();
  return StepStatus{.done = state.pending.empty(), .length = state.kept.length()};
}

std::uint32_t Pass::length() const { return state_->kept.length(); }
std::uint64_t Pass::n_bytes() const { return state_->kept.cache.n_bytes() + state_->resid.size_bytes(); }

// ---- reading: any pass ----

Result<Array<float>> Pass::logits(std::uint32_t pos) const {
  auto row = logits_of(*state_, pos);
  if (!row) return row.error();
  auto logits = Array<float>::create(row->size(), "logits");
  if (logits) std::ranges::copy(*row, logits->span().begin());
  return logits;
}

Result<TopTokens> Pass::top(std::uint32_t k, std::uint32_t pos) const {
  auto all = logits_of(*state_, pos);
  if (!all) return all.error();
  k = std::min(k, state_->engine->config.n_vocab);
  auto ids = Array<TokenId>::create(k, "top tokens");
  auto top_logits = Array<float>::create(k, "top tokens");
  auto probabilities = Array<float>::create(k, "top tokens");
  if (!ids) return ids.error();
  if (!top_logits) return top_logits.error();
  if (!probabilities) return probabilities.error();
  model::top_tokens(*all, ids->span(), top_logits->span(), probabilities->span());
  return TopTokens{std::move(*ids), std::move(*top_logits), std::move(*probabilities)};
}

Result<Array<float>> Pass::residual(std::uint32_t pos) const {
  LOOKBACK_TRY(check_position(*state_, "position", pos));
  auto trace = model::run_again(*state_->engine->forward, state_->kept, pos);
  if (!trace) return trace.error();
  const ModelConfig& config = state_->engine->config;
  auto stream = Array<float>::create((std::size_t{config.n_layer} + 1) * config.n_embd, "the residual stream");
  if (!stream) return stream.error();
  std::copy_n(trace->resid_post, stream->size(), stream->span().data());
  return stream;
}

Result<TopTokens> Pass::lens(std::uint32_t pos, std::uint32_t k) const {
  LOOKBACK_TRY(check_position(*state_, "position", pos));
  return model::lens(*state_->engine->forward, state_->kept, pos, std::min(k, state_->engine->config.n_vocab));
}

Result<Attribution> Pass::attribution(TokenId token, std::uint32_t pos, Centre centre) const {
  LOOKBACK_TRY(check_position(*state_, "position", pos));
  LOOKBACK_TRY(check_token(*state_, token));
  Engine::State& engine = *state_->engine;
  if (centre == Centre::kVocabularyMean && engine.mean_head_row.empty()) {
    engine.mean_head_row = model::mean_head_row(engine.weights, engine.pool);
  }
  const std::span<const double> baseline =
      centre == Centre::kVocabularyMean ? std::span<const double>(engine.mean_head_row) : std::span<const double>{};
  return model::attribution(*engine.forward, state_->kept, token, pos, baseline);
}

// ---- reading: passes that kept their queries ----

Result<AttentionRow> Pass::row(std::uint32_t layer, std::uint32_t head, std::uint32_t query) const {
  LOOKBACK_TRY(check_row(*state_, layer, head, query));
  return rows_of(*state_).row(layer, head, query);
}

Result<Array<float>> Pass::look(std::uint32_t query) const {
  LOOKBACK_TRY(check_row(*state_, 0, 0, query));
  return rows_of(*state_).look(query);
}

Result<Array<float>> Pass::looked_at_by(std::uint32_t key) const {
  LOOKBACK_TRY(check_rows(*state_));
  LOOKBACK_TRY(check_index("key", key, length()));
  return rows_of(*state_).looked_at_by(key);
}

Result<Array<float>> Pass::pattern(std::uint32_t layer, std::uint32_t head) const {
  LOOKBACK_TRY(check_row(*state_, layer, head, 0));
  return rows_of(*state_).pattern(layer, head);
}

Result<Array<float>> Pass::average() const {
  LOOKBACK_TRY(check_rows(*state_));
  return rows_of(*state_).average();
}

Result<Array<float>> Pass::products(std::uint32_t layer, std::uint32_t head, std::uint32_t query,
                                    std::uint32_t key) const {
  LOOKBACK_TRY(check_row(*state_, layer, head, query));
  if (key > query) {
    return bad_argument("key is " + std::to_string(key) + ", expected 0 to the query's position " +
                        std::to_string(query));
  }
  return rows_of(*state_).products(layer, head, query, key);
}

Result<Array<float>> Pass::written(std::uint32_t layer, std::uint32_t head, std::uint32_t query) const {
  LOOKBACK_TRY(check_row(*state_, layer, head, query));
  return rows_of(*state_).written(state_->engine->weights, layer, head, query);
}

Result<Array<float>> Pass::head_stats() const {
  LOOKBACK_TRY(check_rows(*state_));
  return model::head_stats(state_->engine->config, state_->kept, state_->engine->pool);
}

Result<std::unique_ptr<Effects>> Pass::effects(TokenId token, std::uint32_t pos) const {
  LOOKBACK_TRY(check_rows(*state_));
  LOOKBACK_TRY(check_index("position", pos, length()));
  LOOKBACK_TRY(check_token(*state_, token));
  // Its own view of the pass: positions up to the asked one, in shared pages.
  const std::uint32_t n = pos + 1;
  const auto ids = std::span(state_->kept.ids).first(n);
  model::KeptPass kept{{ids.begin(), ids.end()}, state_->kept.switches, state_->kept.cache.fork(n)};
  auto effects = model::Effects::create(*state_->engine->forward, std::move(kept), token, pos);
  if (!effects) return effects.error();
  auto state = std::unique_ptr<Effects::State>(
      new Effects::State{.engine = state_->engine, .effects = std::move(*effects), .failed = {}});
  return std::unique_ptr<Effects>(new Effects(std::move(state)));
}

Effects::Effects(std::unique_ptr<State> state) : state_(std::move(state)) {}
Effects::~Effects() = default;

Result<EffectsStatus> Effects::step() {
  if (state_->failed) return *state_->failed;
  auto status = state_->effects.step(*state_->engine->forward);
  if (!status) state_->failed = status.error();
  return status;
}

}  // namespace lookback
