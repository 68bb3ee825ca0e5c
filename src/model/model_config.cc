#include "model/model_config.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

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

using Json = nlohmann::json;

/// Names the first key that an object holds twice: the parser alone would keep the last silently.
class DuplicateKeys {
 public:
  bool see(Json::parse_event_t event, const Json& value) {
    if (event == Json::parse_event_t::object_start) open_.emplace_back();
    if (event == Json::parse_event_t::object_end && !open_.empty()) open_.pop_back();
    if (event == Json::parse_event_t::key && !open_.empty()) {
      const auto& key = value.get_ref<const std::string&>();
      if (!open_.back().insert(key).second && found_.empty()) found_ = key;
    }
    return true;
  }
  const std::string& found() const { return found_; }

 private:
  std::vector<std::set<std::string>> open_;
  std::string found_;
};

/// True for an absent key and for null, which Hugging Face writes for "not used".
bool absent(const Json& object, const char* key) { return !object.contains(key) || object[key].is_null(); }

Result<std::uint32_t> read_u32(const Json& object, const char* key) {
  if (absent(object, key)) {
    return Error{ErrorCode::kMissingMetadata, std::string("config.json: no ") + key, std::nullopt};
  }
  const Json& value = object[key];
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > UINT32_MAX) {
    return bad_config(std::string("config.json: ") + key + " is " +
                      value.dump(-1, ' ', true, Json::error_handler_t::replace) +
                      ", expected a whole number below 2^32");
  }
  return value.get<std::uint32_t>();
}

Result<std::uint32_t> read_u32_or(const Json& object, const char* key, std::uint32_t fallback) {
  if (absent(object, key)) return fallback;
  return read_u32(object, key);
}

Result<float> read_f32_or(const Json& object, const char* key, float fallback) {
  if (absent(object, key)) return fallback;
  if (!object[key].is_number()) return bad_config(std::string("config.json: ") + key + " is not a number");
  return object[key].get<float>();
}

Result<void> refuse_true(const Json& object, const char* key) {
  if (absent(object, key)) return {};
  if (!object[key].is_boolean()) return bad_config(std::string("config.json: ") + key + " is neither true nor false");
  if (object[key].get<bool>()) return unsupported(std::string("config.json: ") + key + " is true, expected false");
  return {};
}

Result<void> expect_string(const Json& object, const char* key, std::string_view expected) {
  if (absent(object, key)) return {};
  if (!object[key].is_string()) return bad_config(std::string("config.json: ") + key + " is not a string");
  const auto& value = object[key].get_ref<const std::string&>();
  if (value == expected) return {};
  return unsupported(std::string("config.json: ") + key + " is \"" + value + "\", expected \"" + std::string(expected) +
                     "\"");
}

/// rope_theta at the top (transformers 4) or in rope_parameters (transformers 5); any scaling is refused by its name.
Result<float> read_rope_base(const Json& object) {
  auto base = read_f32_or(object, "rope_theta", kDefaultRopeBase);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (absent(object, key)) continue;
    const Json& rope = object[key];
    if (!rope.is_object()) return bad_config(std::string("config.json: ") + key + " is not an object");
    for (const char* type_key : {"rope_type", "type"}) {
      if (absent(rope, type_key)) continue;
      if (!rope[type_key].is_string() || rope[type_key].get_ref<const std::string&>() != "default") {
        return unsupported(std::string("config.json: ") + key + "." + type_key + " is " +
                           rope[type_key].dump(-1, ' ', true, Json::error_handler_t::replace) +
                           ", expected \"default\"");
      }
    }
    if (absent(rope, "rope_type") && !absent(rope, "factor")) {
      return unsupported(std::string("config.json: ") + key + " scales positions, which is not read here");
    }
    if (!absent(rope, "rope_theta")) base = read_f32_or(rope, "rope_theta", kDefaultRopeBase);
  }
  return base;
}

}  // namespace

Result<ModelConfig> config_from_json(std::string_view text) {
  if (text.size() > kMaxJsonBytes) return bad_config("config.json has " + std::to_string(text.size()) + " bytes");
  DuplicateKeys duplicates;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) { return duplicates.see(event, value); };
  const Json object = Json::parse(text, watch, /*allow_exceptions=*/false);
  if (!duplicates.found().empty()) return bad_config("config.json holds the key " + duplicates.found() + " twice");
  if (!object.is_object()) return bad_config("config.json is not a JSON object");
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
  if (!absent(object, "tie_word_embeddings") && !object["tie_word_embeddings"].is_boolean()) {
    return bad_config("config.json: tie_word_embeddings is neither true nor false");
  }
  config.tie_word_embeddings = !absent(object, "tie_word_embeddings") && object["tie_word_embeddings"].get<bool>();
  auto eps = read_f32_or(object, "rms_norm_eps", kDefaultRmsEps);
  LOOKBACK_TRY(eps);
  config.rms_eps = *eps;
  auto base = read_rope_base(object);
  LOOKBACK_TRY(base);
  config.rope_base = *base;
  return config;
}

}  // namespace lookback::model
