#include "lookback/engine.h"

#include <algorithm>
#include <string>

#include "kernels/ops.h"
#include "model/model_config.h"
#include "runtime/state.h"

namespace lookback {
namespace {

// Bytes that one call may hand over: far more than a network chunk, far less than memory.
constexpr std::size_t kMaxChunkBytes = 64u << 20;
// More threads than any machine this runs on would use.
constexpr int kMaxThreads = 64;

Error wrong_state(const char* message) { return {ErrorCode::kWrongState, message, std::nullopt}; }
Error bad_argument(std::string message) { return {ErrorCode::kBadArgument, std::move(message), std::nullopt}; }

/// Takes a file's tensors and keeps none: for inspect, where the reader's directory is all that is wanted.
class Inspector : public formats::TensorSink {
 public:
  Result<void> on_metadata(const formats::Metadata&) override { return {}; }
  Result<void> on_directory(std::span<const formats::TensorInfo>) override { return {}; }
  Result<void> begin_tensor(const formats::TensorInfo&) override { return {}; }
  Result<void> tensor_bytes(std::span<const std::byte>) override { return {}; }
  Result<void> end_tensor() override { return {}; }
};

}  // namespace

Engine::Engine(std::shared_ptr<State> state) : state_(std::move(state)) {}
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::create(const EngineOptions& options) {
  if (options.n_threads < 1 || options.n_threads > kMaxThreads) {
    return bad_argument("threads is " + std::to_string(options.n_threads) + ", expected 1 to " +
                        std::to_string(kMaxThreads));
  }
  return std::unique_ptr<Engine>(new Engine(std::make_shared<State>(options)));
}

// ---- loading ----

Result<void> Engine::begin_file(const FileOptions& options) {
  State& state = *state_;
  if (state.forward) return wrong_state("the model is open: a new file needs a new engine");
  if (state.file_open) {
    // Of a file that is only looked at, the header is enough.
    if (!state.inspector || !state.reader->header_complete()) {
      return wrong_state("the file before this one has not ended");
    }
    if (!state.model_file) state.model_file = std::move(state.reader);
    state.file_open = false;
  }
  formats::TensorSink* sink = &state.loader;
  if (options.inspect_only) {
    state.inspector = std::make_unique<Inspector>();
    sink = state.inspector.get();
  }
  const auto wanted = std::find(state.wanted.begin(), state.wanted.end(), options.name);
  const bool is_external = wanted != state.wanted.end();
  auto reader = is_external
                    ? formats::FileReader::create_external(*state.model_file, options.name, options.n_bytes, sink)
                    : formats::FileReader::create(options.name, options.n_bytes, sink);
  if (!reader) return reader.error();
  state.reader = std::move(*reader);
  if (is_external) {
    state.wanted.erase(wanted);
  } else {
    if (state.model_file) {
      const auto& tensors = state.model_file->tensors();
      state.earlier_tensors.insert(state.earlier_tensors.end(), tensors.begin(), tensors.end());
    }
    state.model_file.reset();
    state.wanted.clear();
  }
  state.loader.set_reader(state.reader.get());
  state.file_open = true;
  return {};
}

Result<std::span<std::byte>> Engine::chunk(std::size_t n) {
  State& state = *state_;
  if (!state.file_open) return wrong_state("no file is being read");
  if (n > kMaxChunkBytes) {
    return bad_argument("a chunk of " + std::to_string(n) + " bytes, expected at most " +
                        std::to_string(kMaxChunkBytes));
  }
  if (state.chunk.size_bytes() < n) {
    state.chunk = {};
    auto chunk = base::AlignedBuffer::create(n, "a chunk of the file");
    if (!chunk) return chunk.error();
    state.chunk = std::move(*chunk);
  }
  state.chunk_size = n;
  return std::span(state.chunk.data(), n);
}

Result<FeedStatus> Engine::commit(std::size_t n) {
  State& state = *state_;
  if (!state.file_open) return wrong_state("no file is being read");
  if (n > state.chunk_size) return bad_argument("more bytes than the chunk has room for");
  state.chunk_size = 0;
  LOOKBACK_TRY(state.reader->feed({state.chunk.data(), n}));
  return FeedStatus{.header_complete = state.reader->header_complete()};
}

Result<std::vector<std::string>> Engine::end_file() {
  State& state = *state_;
  if (!state.file_open) return wrong_state("no file is being read");
  LOOKBACK_TRY(state.reader->finish());
  state.file_open = false;
  state.chunk = {};
  if (state.model_file == nullptr) {
    state.model_file = std::move(state.reader);
    state.wanted = state.model_file->external_files();
  }
  state.reader.reset();
  state.loader.set_reader(state.model_file.get());
  return state.wanted;
}

Result<void> Engine::set_config(std::string_view json) {
  if (state_->forward) return wrong_state("the model is open: a new configuration needs a new engine");
  auto config = model::config_from_json(json);
  LOOKBACK_TRY(config);
  state_->loader.set_config(*config);
  return {};
}

Result<Directory> Engine::directory() const {
  const State& state = *state_;
  const formats::FileReader* reader = state.model_file ? state.model_file.get() : state.reader.get();
  if (reader == nullptr || !reader->header_complete() || !reader->format()) {
    return wrong_state("the file's directory is not complete yet");
  }
  Directory directory;
  directory.format = std::string(formats::format_name(*reader->format()));
  if (*reader->format() == formats::Format::kGguf) {
    auto architecture = reader->metadata().get_string_or("general.architecture", "");
    LOOKBACK_TRY(architecture);
    directory.architecture = std::string(*architecture);
    // A file of another architecture can still be looked at; its configuration cannot.
    if (auto config = model::config_from_metadata(reader->metadata())) directory.config = *config;
  } else if (state.loader.config()) {
    directory.architecture = state.loader.config()->architecture;
    directory.config = state.loader.config();
  }
  for (const auto* tensors : {&state.earlier_tensors, &reader->tensors()}) {
    for (const auto& tensor : *tensors) {
      directory.tensors.push_back({tensor.name, std::string(quant::dtype_name(tensor.dtype)), tensor.shape});
    }
  }
  if (const auto* tokenizer = reader->metadata().tokenizer()) {
    directory.tokenizer = TokenizerSummary{.model = tokenizer->model,
                                           .pre = tokenizer->pre,
                                           .n_tokens = tokenizer->tokens.count(),
                                           .n_merges = tokenizer->merges.count()};
    if (directory.config && directory.config->n_vocab == 0) {
      directory.config->n_vocab = static_cast<std::uint32_t>(tokenizer->tokens.count());
    }
  }
  return directory;
}

Result<std::optional<TokenizerView>> Engine::tokenizer() const {
  const State& state = *state_;
  const formats::FileReader* reader = state.model_file ? state.model_file.get() : state.reader.get();
  if (reader == nullptr || !reader->header_complete()) return wrong_state("the file's directory is not complete yet");
  const auto* data = reader->metadata().tokenizer();
  if (data == nullptr) return std::optional<TokenizerView>{};
  TokenizerView view{.model = data->model,
                     .pre = data->pre,
                     .tokens = data->tokens.bytes(),
                     .merges = data->merges.bytes(),
                     .token_types = data->token_types,
                     .bos_id = {},
                     .eos_id = {},
                     .unk_id = {},
                     .pad_id = {},
                     .add_bos = data->add_bos,
                     .add_space_prefix = data->add_space_prefix,
                     .chat_template = data->chat_template};
  const struct {
    const char* key;
    const std::optional<std::uint32_t>& from;
    std::optional<TokenId>& to;
  } ids[] = {{"bos", data->bos_id, view.bos_id},
             {"eos", data->eos_id, view.eos_id},
             {"unknown", data->unk_id, view.unk_id},
             {"padding", data->pad_id, view.pad_id}};
  for (const auto& [key, from, to] : ids) {
    if (!from) continue;
    if (*from >= data->tokens.count()) {
      return Error{ErrorCode::kBadHeader,
                   std::string("tokenizer.ggml.") + key + "_token_id is " + std::to_string(*from) + ", but there are " +
                       std::to_string(data->tokens.count()) + " tokens",
                   std::nullopt};
    }
    to = static_cast<TokenId>(*from);
  }
  return std::optional<TokenizerView>{view};
}

Result<ModelInfo> Engine::open() {
  State& state = *state_;
  if (state.forward) return wrong_state("the model is open already");
  if (state.file_open || state.inspector) return wrong_state("the weights have not been read");
  if (!state.wanted.empty()) {
    return Error{ErrorCode::kMissingTensor,
                 "tensors are in the file \"" + state.wanted[0] + "\", which has not been read", std::nullopt};
  }
  auto weights = state.loader.finish(&state.config);
  if (!weights) return weights.error();
  state.weights = std::move(*weights);
  const ModelConfig& config = state.config;
  if (state.options.n_ctx > config.n_ctx) {
    return bad_argument("contextLength is " + std::to_string(state.options.n_ctx) + ", but the model was made for " +
                        std::to_string(config.n_ctx) + " positions");
  }
  state.n_ctx = state.options.n_ctx == 0 ? config.n_ctx : state.options.n_ctx;
  auto forward = model::Forward::create(config, state.n_ctx, state.weights, state.options.precision, state.pool);
  if (!forward) return forward.error();
  state.forward = std::move(*forward);

  const auto summary = state.loader.summary();
  return ModelInfo{.config = config,
                   .n_ctx = state.n_ctx,
                   .n_parameters = summary.n_parameters,
                   .weight_bytes = state.weights.n_bytes(),
                   .dtypes = summary.dtypes,
                   .tied = !state.weights.untied_lm_head.has_value(),
                   .variant = std::string(kernels::variant_name()),
                   .n_threads = state.pool.n_threads(),
                   .precision = state.options.precision};
}

// ---- passes ----

Result<std::unique_ptr<Pass>> Engine::create_pass(const PassOptions& options) {
  State& state = *state_;
  if (!state.forward) return wrong_state("the model is not open");
  auto switches = model::Switches::create(state.config, options.off);
  if (!switches) return switches.error();
  const ModelConfig& config = state.config;
  const model::KvCache::Shape shape{.n_layer = config.n_layer,
                                    .n_head = options.keep == Keep::kRows ? config.n_head : 0,
                                    .n_kv_head = config.n_kv_head,
                                    .head_dim = config.head_dim,
                                    .n_embd = config.n_embd,
                                    .n_stream = options.keep == Keep::kRows ? model::n_streams(config.n_layer) : 1};
  std::vector<TokenId> ids;
  model::KvCache cache(shape);
  if (options.prefix != nullptr && options.prefix_length > 0) {
    const Pass::State& prefix = *options.prefix->state_;
    if (prefix.engine != state_) return wrong_state("the prefix belongs to another model");
    // A key depends on everything that was off below it: other switches, other keys.
    if (prefix.kept.switches.first_difference(*switches, config.n_layer) != config.n_layer)
      return wrong_state("the prefix ran with other switches");
    if (prefix.kept.cache.shape().n_head != shape.n_head)
      return wrong_state("the prefix keeps other things than asked for");
    if (options.prefix_length > prefix.kept.length()) {
      return bad_argument("a prefix of " + std::to_string(options.prefix_length) + " positions, but that pass has " +
                          std::to_string(prefix.kept.length()));
    }
    cache = prefix.kept.cache.fork(options.prefix_length);
    const auto shared = std::span(prefix.kept.ids).first(options.prefix_length);
    ids.assign(shared.begin(), shared.end());
  }
  auto pass = std::unique_ptr<Pass::State>(
      new Pass::State{.engine = state_, .kept = {std::move(ids), std::move(*switches), std::move(cache)}});
  return std::unique_ptr<Pass>(new Pass(std::move(pass)));
}

}  // namespace lookback
