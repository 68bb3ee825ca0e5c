#include "model/model_config.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "formats/json_sax.h"

namespace lookback::model {
namespace {

// Far above any network that fits a browser, far below what overflows a product of two.
constexpr std::uint32_t kMaxLayers = 1024;
constexpr std::uint32_t kMaxHeads = 128;    // and the heads of a layer run as one block (effects)
constexpr std::uint32_t kMaxHeadDim = 256;  // of the attention kernel
constexpr std::uint32_t kHeadDimStep = 8;   // likewise
constexpr std::uint32_t kMaxWidth = 1u << 17;
constexpr std::uint32_t kMaxVocab = 1u << 22;
constexpr std::uint32_t kMaxContext = 1u << 20;
constexpr std::size_t kMaxJsonBytes = 1u << 20;

// What a config.json may leave out. Source: transformers, LlamaConfig.
constexpr float kDefaultRopeBase = 10000.0f;
constexpr float kDefaultRmsEps = 1e-6f;
// What a GGUF may leave out. Source: llama.cpp, llama_hparams.
constexpr float kDefaultGgufRopeBase = 10000.0f;

Error bad_config(std::string message) { return {ErrorCode::kBadConfig, std::move(message), std::nullopt}; }

Error unsupported(std::string message) {
  return {ErrorCode::kUnsupportedArchitecture, std::move(message), std::nullopt};
}

Result<void> check_range(const char* name, std::uint64_t value, std::uint64_t limit) {
  if (value >= 1 && value <= limit) return {};
  return bad_config(std::string(name) + " is " + std::to_string(value) + ", expected 1 to " + std::to_string(limit));
}

}  // namespace

Result<void> check_config(const ModelConfig& config) {
  LOOKBACK_TRY(check_range("n_layer", config.n_layer, kMaxLayers));
  LOOKBACK_TRY(check_range("n_head", config.n_head, kMaxHeads));
  LOOKBACK_TRY(check_range("n_kv_head", config.n_kv_head, config.n_head));
  LOOKBACK_TRY(check_range("head_dim", config.head_dim, kMaxHeadDim));
  LOOKBACK_TRY(check_range("n_embd", config.n_embd, kMaxWidth));
  LOOKBACK_TRY(check_range("n_ff", config.n_ff, kMaxWidth));
  LOOKBACK_TRY(check_range("n_vocab", config.n_vocab, kMaxVocab));
  LOOKBACK_TRY(check_range("n_ctx", config.n_ctx, kMaxContext));
  if (config.n_head % config.n_kv_head != 0) {
    return bad_config(std::to_string(config.n_head) + " heads over " + std::to_string(config.n_kv_head) +
                      " key/value heads: no whole group");
  }
  if (config.head_dim % kHeadDimStep != 0) {
    return bad_config("head_dim is " + std::to_string(config.head_dim) + ", expected a multiple of 8");
  }
  LOOKBACK_TRY(check_range("n_head * head_dim", config.n_q(), kMaxWidth));
  if (!std::isfinite(config.rope_base) || config.rope_base <= 0) {
    return bad_config("rope_base is " + std::to_string(config.rope_base) + ", expected a positive number");
  }
  if (!std::isfinite(config.rms_eps) || config.rms_eps < 0) {
    return bad_config("rms_eps is " + std::to_string(config.rms_eps) + ", expected 0 or more");
  }
  return {};
}

// ---- GGUF ----

namespace {

Result<void> refuse_gguf_extras(const formats::Metadata& metadata) {
  // Each of these changes the arithmetic of a llama pass; none occurs in plain Llama checkpoints.
  auto scaling = metadata.get_string_or("llama.rope.scaling.type", "none");
  LOOKBACK_TRY(scaling);
  if (*scaling != "none")
    return unsupported("llama.rope.scaling.type is \"" + std::string(*scaling) + "\", expected \"none\"");
  for (const char* key : {"llama.expert_count", "llama.attention.sliding_window"}) {
    auto count = metadata.get_u32_or(key, 0);
    LOOKBACK_TRY(count);
    if (*count != 0) return unsupported(std::string(key) + " is " + std::to_string(*count) + ", expected none");
  }
  for (const char* key : {"llama.attention.scale", "llama.logit_scale", "llama.residual_scale", "llama.embedding_scale",
                          "llama.rope.scale_linear", "llama.rope.scaling.factor"}) {
    if (!metadata.contains(key)) continue;
    auto scale = metadata.get_f32(key);
    LOOKBACK_TRY(scale);
    if (*scale != 0.0f && *scale != 1.0f)
      return unsupported(std::string(key) + " is " + std::to_string(*scale) + ", expected none");
  }
  return {};
}

}  // namespace

Result<ModelConfig> config_from_metadata(const formats::Metadata& metadata) {
  auto architecture = metadata.get_string("general.architecture");
  LOOKBACK_TRY(architecture);
  if (*architecture != "llama") {
    return unsupported("general.architecture is \"" + std::string(*architecture) + "\", expected \"llama\"");
  }
  LOOKBACK_TRY(refuse_gguf_extras(metadata));

  ModelConfig config;
  config.architecture = std::string(*architecture);
  config.rope_layout = RopeLayout::kNeighbours;
  const struct {
    const char* key;
    std::uint32_t ModelConfig::* field;
  } required[] = {
      {"llama.block_count", &ModelConfig::n_layer},      {"llama.embedding_length", &ModelConfig::n_embd},
      {"llama.feed_forward_length", &ModelConfig::n_ff}, {"llama.attention.head_count", &ModelConfig::n_head},
      {"llama.context_length", &ModelConfig::n_ctx},
  };
  for (const auto& [key, field] : required) {
    auto value = metadata.get_u32(key);
    LOOKBACK_TRY(value);
    config.*field = *value;
  }
  auto n_kv_head = metadata.get_u32_or("llama.attention.head_count_kv", config.n_head);
  LOOKBACK_TRY(n_kv_head);
  config.n_kv_head = *n_kv_head;
  auto n_vocab = metadata.get_u32_or("llama.vocab_size", 0);
  LOOKBACK_TRY(n_vocab);
  config.n_vocab = *n_vocab;
  auto eps = metadata.get_f32("llama.attention.layer_norm_rms_epsilon");
  LOOKBACK_TRY(eps);
  config.rms_eps = *eps;
  auto base = metadata.get_f32_or("llama.rope.freq_base", kDefaultGgufRopeBase);
  LOOKBACK_TRY(base);
  config.rope_base = *base;

  LOOKBACK_TRY(check_range("llama.attention.head_count", config.n_head, kMaxHeads));
  auto key_length = metadata.get_u32_or("llama.attention.key_length", 0);
  LOOKBACK_TRY(key_length);
  if (*key_length == 0 && config.n_embd % config.n_head != 0) {
    return bad_config("llama.embedding_length " + std::to_string(config.n_embd) + " is no multiple of " +
                      std::to_string(config.n_head) + " heads, and llama.attention.key_length is absent");
  }
  config.head_dim = *key_length != 0 ? *key_length : config.n_embd / config.n_head;
  for (const char* key : {"llama.attention.value_length", "llama.rope.dimension_count"}) {
    auto length = metadata.get_u32_or(key, config.head_dim);
    LOOKBACK_TRY(length);
    if (*length != config.head_dim) {
      return unsupported(std::string(key) + " is " + std::to_string(*length) + ", expected the head size " +
                         std::to_string(config.head_dim));
    }
  }
  return config;
}

// ---- config.json ----

namespace {

/// One value of config.json as far as a model is told by it: arrays and deeper objects only count as being there.
struct JsonObject {};
struct JsonOther {};
using JsonValue = std::variant<std::nullptr_t, bool, std::uint64_t, double, std::string, JsonObject, JsonOther>;

/// The members of the top object and of the objects in it ("rope_scaling.rope_type"), and the first key that any object
/// holds twice: a parser that makes a tree would keep the last silently.
class ConfigJson final : public formats::JsonHandler {
 public:
  static Result<ConfigJson> parse(std::string_view text) {
    ConfigJson config;
    const char* reached = text.data();
    formats::parse_json(text, config, &reached);
    if (!config.duplicate_.empty()) return bad_config("config.json holds the key " + config.duplicate_ + " twice");
    if (!config.is_object_) return bad_config("config.json is not a JSON object");
    return config;
  }

  /// Null for an absent key and for null, which Hugging Face writes for "not used".
  const JsonValue* find(const std::string& path) const {
    const auto at = members_.find(path);
    return at == members_.end() || std::holds_alternative<std::nullptr_t>(at->second) ? nullptr : &at->second;
  }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(std::int64_t value) override { return put(static_cast<double>(value)); }
  bool number_unsigned(std::uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(value); }
  bool binary(binary_t&) override { return put(JsonOther{}); }
  bool start_object(std::size_t) override {
    if (open_.empty()) is_object_ = true;
    put(JsonObject{});
    open_.push_back({true, {}, {}});
    return true;
  }
  bool start_array(std::size_t) override {
    put(JsonOther{});
    open_.push_back({false, {}, {}});
    return true;
  }
  bool key(std::string& name) override {
    Level& level = open_.back();
    if (!level.keys.insert(name).second && duplicate_.empty()) duplicate_ = name;
    level.key = name;
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    is_object_ = false;
    return false;
  }

 private:
  struct Level {
    bool is_object = false;
    std::string key = {};  // of the member being read
    std::set<std::string> keys = {};
  };

  bool close() {
    open_.pop_back();
    return true;
  }
  bool put(JsonValue value) {
    const auto in_object = [](const Level& level) { return level.is_object; };
    if (open_.empty() || open_.size() > 2 || !std::all_of(open_.begin(), open_.end(), in_object)) return true;
    std::string path = open_[0].key;
    if (open_.size() == 2) path += "." + open_[1].key;
    members_.insert_or_assign(std::move(path), std::move(value));
    return true;
  }

  std::vector<Level> open_;
  std::map<std::string, JsonValue> members_;
  std::string duplicate_;
  bool is_object_ = false;
};

/// A value for messages.
std::string json_text(const JsonValue& value) {
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value)) return std::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return "\"" + *text + "\"";
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  return std::holds_alternative<JsonObject>(value) ? "an object" : "an array";
}

Error bad_value(const std::string& key, const JsonValue& value, const char* expected) {
  return bad_config("config.json: " + key + " is " + json_text(value) + ", expected " + expected);
}

Result<std::uint32_t> read_u32(const ConfigJson& config, const std::string& key) {
  const JsonValue* value = config.find(key);
  if (value == nullptr) return Error{ErrorCode::kMissingMetadata, "config.json: no " + key, std::nullopt};
  const auto* number = std::get_if<std::uint64_t>(value);
  if (number == nullptr || *number > UINT32_MAX) return bad_value(key, *value, "a whole number below 2^32");
  return static_cast<std::uint32_t>(*number);
}

Result<std::uint32_t> read_u32_or(const ConfigJson& config, const std::string& key, std::uint32_t fallback) {
  if (config.find(key) == nullptr) return fallback;
  return read_u32(config, key);
}

Result<float> read_f32_or(const ConfigJson& config, const std::string& key, float fallback) {
  const JsonValue* value = config.find(key);
  if (value == nullptr) return fallback;
  if (const auto* number = std::get_if<double>(value)) return static_cast<float>(*number);
  if (const auto* number = std::get_if<std::uint64_t>(value)) return static_cast<float>(*number);
  return bad_value(key, *value, "a number");
}

Result<bool> read_bool_or(const ConfigJson& config, const std::string& key, bool fallback) {
  const JsonValue* value = config.find(key);
  if (value == nullptr) return fallback;
  if (const auto* boolean = std::get_if<bool>(value)) return *boolean;
  return bad_value(key, *value, "true or false");
}

Result<void> refuse_true(const ConfigJson& config, const std::string& key) {
  auto value = read_bool_or(config, key, false);
  LOOKBACK_TRY(value);
  if (*value) return unsupported("config.json: " + key + " is true, expected false");
  return {};
}

Result<void> expect_string(const ConfigJson& config, const std::string& key, const std::string& expected) {
  const JsonValue* value = config.find(key);
  if (value == nullptr) return {};
  const auto* text = std::get_if<std::string>(value);
  if (text == nullptr) return bad_value(key, *value, "a string");
  if (*text == expected) return {};
  return unsupported("config.json: " + key + " is \"" + *text + "\", expected \"" + expected + "\"");
}

/// rope_theta at the top (transformers 4) or in rope_parameters (transformers 5); any scaling is refused by its name.
Result<float> read_rope_base(const ConfigJson& config) {
  auto base = read_f32_or(config, "rope_theta", kDefaultRopeBase);
  LOOKBACK_TRY(base);
  for (const std::string key : {"rope_scaling", "rope_parameters"}) {
    const JsonValue* rope = config.find(key);
    if (rope == nullptr) continue;
    if (!std::holds_alternative<JsonObject>(*rope)) return bad_value(key, *rope, "an object");
    for (const char* type_key : {".rope_type", ".type"}) {
      const JsonValue* type = config.find(key + type_key);
      if (type == nullptr) continue;
      const auto* text = std::get_if<std::string>(type);
      if (text == nullptr || *text != "default") {
        return unsupported("config.json: " + key + type_key + " is " + json_text(*type) + ", expected \"default\"");
      }
    }
    if (config.find(key + ".rope_type") == nullptr && config.find(key + ".factor") != nullptr) {
      return unsupported("config.json: " + key + " scales positions, which is not read here");
    }
    base = read_f32_or(config, key + ".rope_theta", *base);
    LOOKBACK_TRY(base);
  }
  return base;
}

}  // namespace

Result<ModelConfig> config_from_json(std::string_view text) {
  if (text.size() > kMaxJsonBytes) return bad_config("config.json has " + std::to_string(text.size()) + " bytes");
  auto json = ConfigJson::parse(text);
  LOOKBACK_TRY(json);
  const ConfigJson& object = *json;
  LOOKBACK_TRY(expect_string(object, "model_type", "llama"));
  LOOKBACK_TRY(expect_string(object, "hidden_act", "silu"));
  for (const char* key : {"attention_bias", "mlp_bias", "rope_interleaved", "use_sliding_window"}) {
    LOOKBACK_TRY(refuse_true(object, key));
  }
  auto rotary = read_f32_or(object, "partial_rotary_factor", 1.0f);
  LOOKBACK_TRY(rotary);
  if (*rotary != 1.0f)
    return unsupported("config.json: partial_rotary_factor is " + std::to_string(*rotary) + ", expected 1");

  ModelConfig config;
  config.architecture = "llama";
  config.rope_layout = RopeLayout::kHalves;
  const struct {
    const char* key;
    std::uint32_t ModelConfig::* field;
  } required[] = {
      {"num_hidden_layers", &ModelConfig::n_layer}, {"num_attention_heads", &ModelConfig::n_head},
      {"hidden_size", &ModelConfig::n_embd},        {"intermediate_size", &ModelConfig::n_ff},
      {"vocab_size", &ModelConfig::n_vocab},        {"max_position_embeddings", &ModelConfig::n_ctx},
  };
  for (const auto& [key, field] : required) {
    auto value = read_u32(object, key);
    LOOKBACK_TRY(value);
    config.*field = *value;
  }
  auto n_kv_head = read_u32_or(object, "num_key_value_heads", config.n_head);
  LOOKBACK_TRY(n_kv_head);
  config.n_kv_head = *n_kv_head;
  LOOKBACK_TRY(check_range("num_attention_heads", config.n_head, kMaxHeads));
  auto head_dim = read_u32_or(object, "head_dim", 0);
  LOOKBACK_TRY(head_dim);
  if (*head_dim == 0 && config.n_embd % config.n_head != 0) {
    return bad_config("config.json: hidden_size " + std::to_string(config.n_embd) + " is no multiple of " +
                      std::to_string(config.n_head) + " heads, and head_dim is absent");
  }
  config.head_dim = *head_dim != 0 ? *head_dim : config.n_embd / config.n_head;
  auto tied = read_bool_or(object, "tie_word_embeddings", false);
  LOOKBACK_TRY(tied);
  config.tie_word_embeddings = *tied;
  auto eps = read_f32_or(object, "rms_norm_eps", kDefaultRmsEps);
  LOOKBACK_TRY(eps);
  config.rms_eps = *eps;
  auto base = read_rope_base(object);
  LOOKBACK_TRY(base);
  config.rope_base = *base;
  return config;
}

}  // namespace lookback::model
