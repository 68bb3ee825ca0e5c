// bindings: the border to JavaScript, and the only file that knows Emscripten. Touches include/lookback only.
// Each method checks its arguments, makes one call and converts the answer: {ok: true, value} or
// {ok: false, code, message, offset?}. Arrays are copied out; only Engine.chunk hands out a view, for one synchronous
// fill. Numbers of the model are spelled as in web/engine/index.d.ts.
#include <emscripten/bind.h>
#include <emscripten/heap.h>
#include <emscripten/val.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lookback/engine.h"

namespace {

using emscripten::val;
using lookback::Array;
using lookback::Error;
using lookback::ErrorCode;
using lookback::Result;
using lookback::TokenId;

// ---- answers ----

val failure(const Error& error) {
  val answer = val::object();
  answer.set("ok", false);
  answer.set("code", std::string(lookback::error_code_name(error.code)));
  answer.set("message", error.message);
  if (error.offset) answer.set("offset", static_cast<double>(*error.offset));
  return answer;
}

val success(val value) {
  val answer = val::object();
  answer.set("ok", true);
  answer.set("value", std::move(value));
  return answer;
}

/// A fresh typed array with these numbers.
template <typename T>
val copy_of(std::span<const T> numbers) {
  return val(emscripten::typed_memory_view(numbers.size(), numbers.data())).template call<val>("slice");
}

val bytes_of(std::span<const std::byte> bytes) {
  return copy_of(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

val to_js(const Array<float>& numbers) { return copy_of(numbers.span()); }

val to_js(const lookback::TopTokens& top) {
  val value = val::object();
  value.set("ids", copy_of(top.ids.span()));
  value.set("logits", copy_of(top.logits.span()));
  value.set("probabilities", copy_of(top.probabilities.span()));
  return value;
}

val to_js(const lookback::AttentionRow& row) {
  val value = val::object();
  value.set("qk", copy_of(row.qk.span()));
  value.set("scaled", copy_of(row.scaled.span()));
  value.set("share", copy_of(row.share.span()));
  return value;
}

val to_js(const lookback::Attribution& attribution) {
  val value = val::object();
  value.set("embedding", attribution.embedding);
  value.set("heads", copy_of(attribution.heads.span()));
  value.set("mlps", copy_of(attribution.mlps.span()));
  value.set("logit", attribution.logit);
  return value;
}

/// The answer of a call whose value to_js converts.
template <typename T>
val answer(const Result<T>& result) {
  return result ? success(to_js(*result)) : failure(result.error());
}

val answer(const Result<void>& result) { return result ? success(val::object()) : failure(result.error()); }

val strings(const std::vector<std::string>& texts) {
  val array = val::array();
  for (const auto& text : texts) array.call<void>("push", text);
  return array;
}

val optional_id(const std::optional<TokenId>& id) { return id ? val(*id) : val::null(); }

val to_js(const lookback::ModelConfig& config) {
  val value = val::object();
  value.set("architecture", config.architecture);
  value.set("layers", config.n_layer);
  value.set("heads", config.n_head);
  value.set("kvHeads", config.n_kv_head);
  value.set("headDim", config.head_dim);
  value.set("hidden", config.n_embd);
  value.set("feedForward", config.n_ff);
  value.set("vocab", config.n_vocab);
  value.set("contextLength", config.n_ctx);
  value.set("ropeBase", config.rope_base);
  value.set("rmsEps", config.rms_eps);
  return value;
}

// ---- arguments ----

Error bad_argument(std::string message) { return {ErrorCode::kBadArgument, std::move(message), std::nullopt}; }

/// A whole number 0 … 2^32 - 1, or 2^53 for sizes; JavaScript has only one kind of number.
Result<std::uint64_t> whole(const char* name, double number, double limit) {
  if (number >= 0 && number <= limit && number == std::floor(number)) return static_cast<std::uint64_t>(number);
  return bad_argument(std::string(name) + " is " + std::to_string(number) + ", expected a whole number from 0");
}

Result<std::uint32_t> index(const char* name, double number) {
  auto value = whole(name, number, 4294967295.0);
  if (!value) return value.error();
  return static_cast<std::uint32_t>(*value);
}

/// Ids below 0 or not whole become -1, which no vocabulary holds.
TokenId token(double id) {
  return id >= 0 && id <= 2147483647.0 && id == std::floor(id) ? static_cast<TokenId>(id) : TokenId{-1};
}

double number_or(const val& object, const char* key, double fallback) {
  const val value = object[key];
  return value.isNumber() ? value.as<double>() : fallback;
}

#define INDEX(name, number)                                \
  auto name##_index = index(#name, number);                \
  if (!name##_index) return failure(name##_index.error()); \
  const std::uint32_t name = *name##_index

// ---- the classes ----

class JsEffects {
 public:
  explicit JsEffects(std::unique_ptr<lookback::Effects> effects) : effects_(std::move(effects)) {}

  val step() {
    auto status = effects_->step();
    if (!status) return failure(status.error());
    std::vector<double> rows;
    for (const auto& row : status->rows) {
      rows.insert(rows.end(), {static_cast<double>(row.layer), static_cast<double>(row.head), row.probability, row.kl});
    }
    val value = val::object();
    value.set("done", status->done);
    value.set("rows", copy_of(std::span<const double>(rows)));
    return success(value);
  }

 private:
  std::unique_ptr<lookback::Effects> effects_;
};

Result<lookback::Off> off_from(const double* quadruple) {
  auto layer = index("off: layer", quadruple[0]);
  auto head = index("off: head", quadruple[1]);
  if (!layer) return layer.error();
  if (!head) return head.error();
  lookback::Off off{.layer = *layer, .head = *head, .link = {}};
  if (quadruple[2] == -1 && quadruple[3] == -1) return off;
  auto query = index("off: query", quadruple[2]);
  auto key = index("off: key", quadruple[3]);
  if (!query) return query.error();
  if (!key) return key.error();
  off.link = lookback::Off::Link{.query = *query, .key = *key};
  return off;
}

/// Quadruples [layer, head, query | -1, key | -1], one after another; none when null or undefined.
Result<std::vector<lookback::Off>> off_list(const val& quadruples) {
  std::vector<lookback::Off> off;
  if (quadruples.isUndefined() || quadruples.isNull()) return off;
  const auto numbers = emscripten::convertJSArrayToNumberVector<double>(quadruples);
  if (numbers.size() % 4 != 0) return bad_argument("off holds no whole number of quadruples");
  for (std::size_t i = 0; i < numbers.size(); i += 4) {
    auto one = off_from(&numbers[i]);
    if (!one) return one.error();
    off.push_back(*one);
  }
  return off;
}

class JsPass {
 public:
  explicit JsPass(std::unique_ptr<lookback::Pass> pass) : pass_(std::move(pass)) {}
  const lookback::Pass* get() const { return pass_.get(); }

  val begin(const val& ids) {
    const auto numbers = emscripten::convertJSArrayToNumberVector<double>(ids);
    std::vector<TokenId> tokens;
    for (const double id : numbers) tokens.push_back(token(id));
    return answer(pass_->begin(tokens));
  }

  val step() {
    auto status = pass_->step();
    if (!status) return failure(status.error());
    val value = val::object();
    value.set("done", status->done);
    value.set("length", status->length);
    return success(value);
  }

  /// The first n tokens with other things off: quadruples as createPass takes them.
  val switched(double count, const val& quadruples) const {
    INDEX(n, count);
    auto off = off_list(quadruples);
    if (!off) return failure(off.error());
    auto pass = pass_->switched(n, *off);
    if (!pass) return failure(pass.error());
    return success(val(std::make_shared<JsPass>(std::move(*pass))));
  }

  std::uint32_t length() const { return pass_->length(); }
  double bytes() const { return static_cast<double>(pass_->n_bytes()); }

  val logits(double position) const {
    INDEX(pos, position);
    return answer(pass_->logits(pos));
  }
  val top(double count, double position) const {
    INDEX(k, count);
    INDEX(pos, position);
    return answer(pass_->top(k, pos));
  }
  val row(double l, double h, double q) const {
    INDEX(layer, l);
    INDEX(head, h);
    INDEX(query, q);
    return answer(pass_->row(layer, head, query));
  }
  val look(double q) const {
    INDEX(query, q);
    return answer(pass_->look(query));
  }
  val looked_at_by(double k) const {
    INDEX(key, k);
    return answer(pass_->looked_at_by(key));
  }
  val pattern(double l, double h) const {
    INDEX(layer, l);
    INDEX(head, h);
    return answer(pass_->pattern(layer, head));
  }
  val average() const { return answer(pass_->average()); }
  val products(double l, double h, double q, double k) const {
    INDEX(layer, l);
    INDEX(head, h);
    INDEX(query, q);
    INDEX(key, k);
    return answer(pass_->products(layer, head, query, key));
  }
  val written(double l, double h, double q) const {
    INDEX(layer, l);
    INDEX(head, h);
    INDEX(query, q);
    return answer(pass_->written(layer, head, query));
  }
  val heads() const { return answer(pass_->head_stats()); }
  val lens(double position, double count) const {
    INDEX(pos, position);
    INDEX(k, count);
    return answer(pass_->lens(pos, k));
  }
  val residual(double position) const {
    INDEX(pos, position);
    return answer(pass_->residual(pos));
  }
  val attribution(double id, double position, bool centred) const {
    INDEX(pos, position);
    return answer(pass_->attribution(
        token(id), pos, centred ? lookback::Pass::Centre::kVocabularyMean : lookback::Pass::Centre::kNone));
  }
  val effects(double id, double position) const {
    INDEX(pos, position);
    auto effects = pass_->effects(token(id), pos);
    if (!effects) return failure(effects.error());
    return success(val(std::make_shared<JsEffects>(std::move(*effects))));
  }

 private:
  std::unique_ptr<lookback::Pass> pass_;
};

class JsEngine {
 public:
  explicit JsEngine(std::unique_ptr<lookback::Engine> engine) : engine_(std::move(engine)) {}

  /// {name, bytes (-1: unknown), inspectOnly}
  val begin_file(const val& options) {
    const double n_bytes = number_or(options, "bytes", -1);
    lookback::FileOptions file{.name = options["name"].isString() ? options["name"].as<std::string>() : std::string(),
                               .n_bytes = {},
                               .inspect_only = options["inspectOnly"].isTrue()};
    if (n_bytes >= 0) {
      auto size = whole("bytes", n_bytes, 9007199254740991.0);
      if (!size) return failure(size.error());
      file.n_bytes = *size;
    }
    return answer(engine_->begin_file(file));
  }

  /// A view of n bytes to fill before anything else runs.
  val chunk(double n) {
    INDEX(size, n);
    auto room = engine_->chunk(size);
    if (!room) return failure(room.error());
    return success(val(emscripten::typed_memory_view(room->size(), reinterpret_cast<std::uint8_t*>(room->data()))));
  }

  val commit(double n) {
    INDEX(size, n);
    auto status = engine_->commit(size);
    if (!status) return failure(status.error());
    val value = val::object();
    value.set("headerComplete", status->header_complete);
    return success(value);
  }

  val end_file() {
    auto external = engine_->end_file();
    if (!external) return failure(external.error());
    val value = val::object();
    value.set("externalFiles", strings(*external));
    return success(value);
  }

  val set_config(const std::string& json) { return answer(engine_->set_config(json)); }

  val directory() const {
    auto directory = engine_->directory();
    if (!directory) return failure(directory.error());
    val tensors = val::array();
    for (const auto& tensor : directory->tensors) {
      val shape = val::array();
      for (const auto dim : tensor.shape) shape.call<void>("push", static_cast<double>(dim));
      val entry = val::object();
      entry.set("name", tensor.name);
      entry.set("dtype", tensor.dtype);
      entry.set("shape", shape);
      tensors.call<void>("push", entry);
    }
    val value = val::object();
    value.set("format", directory->format);
    value.set("architecture", directory->architecture);
    value.set("config", directory->config ? to_js(*directory->config) : val::null());
    value.set("tensors", tensors);
    val tokenizer = val::null();
    if (directory->tokenizer) {
      tokenizer = val::object();
      tokenizer.set("model", directory->tokenizer->model);
      tokenizer.set("pre", directory->tokenizer->pre);
      tokenizer.set("n_tokens", static_cast<double>(directory->tokenizer->n_tokens));
      tokenizer.set("n_merges", static_cast<double>(directory->tokenizer->n_merges));
    }
    value.set("tokenizer", tokenizer);
    return success(value);
  }

  val tokenizer_data() const {
    auto tokenizer = engine_->tokenizer();
    if (!tokenizer) return failure(tokenizer.error());
    if (!*tokenizer) return success(val::null());
    const lookback::TokenizerView& view = **tokenizer;
    val value = val::object();
    value.set("model", std::string(view.model));
    value.set("pre", std::string(view.pre));
    value.set("tokens", bytes_of(view.tokens));
    value.set("tokenTypes", copy_of(view.token_types));
    value.set("merges", bytes_of(view.merges));
    value.set("bosId", optional_id(view.bos_id));
    value.set("eosId", optional_id(view.eos_id));
    value.set("unkId", optional_id(view.unk_id));
    value.set("padId", optional_id(view.pad_id));
    value.set("addBos", view.add_bos);
    value.set("addSpacePrefix", view.add_space_prefix);
    value.set("chatTemplate", std::string(view.chat_template));
    return success(value);
  }

  val open() {
    auto info = engine_->open();
    if (!info) return failure(info.error());
    val value = to_js(info->config);
    value.set("contextLength", info->n_ctx);
    value.set("parameters", static_cast<double>(info->n_parameters));
    value.set("weightBytes", static_cast<double>(info->weight_bytes));
    value.set("dtypes", strings(info->dtypes));
    value.set("tied", info->tied);
    value.set("variant", info->variant);
    value.set("threads", info->n_threads);
    value.set("precision", std::string(info->precision == lookback::Precision::kExact ? "exact" : "fast"));
    return success(value);
  }

  val memory() const {
    val value = val::object();
    value.set("heapBytes", static_cast<double>(emscripten_get_heap_size()));
    return success(value);
  }

  /// {keep: 'rows' | 'none', off: quadruples [layer, head, query | -1, key | -1], prefix: Pass | null, prefixLength}
  val create_pass(const val& options) {
    lookback::PassOptions pass;
    const val keep = options["keep"];
    if (keep.isString()) {
      const auto word = keep.as<std::string>();
      if (word != "rows" && word != "none")
        return failure(bad_argument("keep is '" + word + "', expected 'rows' or 'none'"));
      pass.keep = word == "rows" ? lookback::Keep::kRows : lookback::Keep::kNone;
    }
    auto off = off_list(options["off"]);
    if (!off) return failure(off.error());
    pass.off = std::move(*off);
    std::shared_ptr<JsPass> prefix;
    if (!options["prefix"].isUndefined() && !options["prefix"].isNull()) {
      prefix = options["prefix"].as<std::shared_ptr<JsPass>>();
      INDEX(prefixLength, number_or(options, "prefixLength", 0));
      pass.prefix = prefix->get();
      pass.prefix_length = prefixLength;
    }
    auto created = engine_->create_pass(pass);
    if (!created) return failure(created.error());
    return success(val(std::make_shared<JsPass>(std::move(*created))));
  }

 private:
  std::unique_ptr<lookback::Engine> engine_;
};

/// {precision: 'exact' | 'fast', threads, contextLength (0: the file's), memoryLimit (bytes; default: this build's)}
val create_engine(const val& options) {
  lookback::EngineOptions engine;
  const val precision = options["precision"];
  if (precision.isString()) {
    const auto word = precision.as<std::string>();
    if (word != "exact" && word != "fast") {
      return failure(bad_argument("precision is '" + word + "', expected 'exact' or 'fast'"));
    }
    engine.precision = word == "exact" ? lookback::Precision::kExact : lookback::Precision::kFast;
  }
  INDEX(threads, number_or(options, "threads", 1));
  INDEX(contextLength, number_or(options, "contextLength", 0));
  if (threads > 1024) return failure(bad_argument("threads is above 1024"));
  engine.n_threads = static_cast<int>(threads);
  engine.n_ctx = contextLength;
  auto limit = whole("memoryLimit", number_or(options, "memoryLimit", static_cast<double>(emscripten_get_heap_max())),
                     9007199254740991.0);
  if (!limit) return failure(limit.error());
  engine.memory_limit_bytes = *limit;
  auto created = lookback::Engine::create(engine);
  if (!created) return failure(created.error());
  return success(val(std::make_shared<JsEngine>(std::move(*created))));
}

}  // namespace

EMSCRIPTEN_BINDINGS(lookback) {
  using emscripten::class_;
  emscripten::function("createEngine", &create_engine);
  class_<JsEngine>("Engine")
      .smart_ptr<std::shared_ptr<JsEngine>>("EnginePointer")
      .function("beginFile", &JsEngine::begin_file)
      .function("chunk", &JsEngine::chunk)
      .function("commit", &JsEngine::commit)
      .function("endFile", &JsEngine::end_file)
      .function("setConfig", &JsEngine::set_config)
      .function("directory", &JsEngine::directory)
      .function("tokenizerData", &JsEngine::tokenizer_data)
      .function("open", &JsEngine::open)
      .function("memory", &JsEngine::memory)
      .function("createPass", &JsEngine::create_pass);
  class_<JsPass>("Pass")
      .smart_ptr<std::shared_ptr<JsPass>>("PassPointer")
      .function("begin", &JsPass::begin)
      .function("step", &JsPass::step)
      .function("switched", &JsPass::switched)
      .function("length", &JsPass::length)
      .function("bytes", &JsPass::bytes)
      .function("logits", &JsPass::logits)
      .function("top", &JsPass::top)
      .function("row", &JsPass::row)
      .function("look", &JsPass::look)
      .function("lookedAtBy", &JsPass::looked_at_by)
      .function("pattern", &JsPass::pattern)
      .function("average", &JsPass::average)
      .function("products", &JsPass::products)
      .function("written", &JsPass::written)
      .function("heads", &JsPass::heads)
      .function("lens", &JsPass::lens)
      .function("residual", &JsPass::residual)
      .function("attribution", &JsPass::attribution)
      .function("effects", &JsPass::effects);
  class_<JsEffects>("Effects")
      .smart_ptr<std::shared_ptr<JsEffects>>("EffectsPointer")
      .function("step", &JsEffects::step);
}
