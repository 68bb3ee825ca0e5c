#include "model/model_config.h"

#include <gtest/gtest.h>

#include "tests/support/test_files.h"

namespace lookback::test {
namespace {

nlohmann::json sound() { return read_json("tests/data/reference/tiny/tiny-hf-F32/config.json"); }

/// The error of a config.json with one key set to a JSON value.
Error refused(const std::string& key, const std::string& value) {
  auto json = sound();
  json[key] = nlohmann::json::parse(value);
  auto config = model::config_from_json(json.dump());
  Result<void> checked;
  if (config) checked = model::check_config(*config);
  if (config && checked) {
    ADD_FAILURE() << key << " = " << value << " was taken";
    return {ErrorCode::kWrongState, "", {}};
  }
  return config ? checked.error() : config.error();
}

TEST(ConfigFromJson, ReadsWhatItSays) {
  const auto config = model::config_from_json(sound().dump());
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_TRUE(model::check_config(*config).has_value());
  EXPECT_EQ(config->n_embd, 64u);
  EXPECT_EQ(config->n_ff, 96u);
  EXPECT_EQ(config->n_layer, 3u);
  EXPECT_EQ(config->n_head, 4u);
  EXPECT_EQ(config->n_kv_head, 2u);
  EXPECT_EQ(config->head_dim, 16u);
  EXPECT_EQ(config->n_vocab, 300u);
  EXPECT_EQ(config->n_ctx, 256u);
  EXPECT_EQ(config->rope_base, 10000.0f);
  EXPECT_EQ(config->rms_eps, 1e-5f);
  EXPECT_EQ(config->rope_layout, RopeLayout::kHalves);
  EXPECT_TRUE(config->tie_word_embeddings);
}

TEST(ConfigFromJson, DerivesWhatItMay) {
  auto json = sound();
  json.erase("head_dim");
  json.erase("num_key_value_heads");
  const auto config = model::config_from_json(json.dump());
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->head_dim, 16u);
  EXPECT_EQ(config->n_kv_head, 4u);
}

TEST(ConfigFromJson, ReadsTransformersFivesRopeParameters) {
  auto json = sound();
  json.erase("rope_theta");
  json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5e5}};
  const auto config = model::config_from_json(json.dump());
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->rope_base, 5e5f);
}

TEST(ConfigFromJson, NamesWhatWouldNeedOtherCode) {
  const struct {
    const char* key;
    const char* value;
  } cases[] = {
      {"model_type", "\"mistral\""},
      {"hidden_act", "\"gelu\""},
      {"attention_bias", "true"},
      {"mlp_bias", "true"},
      {"rope_scaling", "{\"rope_type\":\"llama3\",\"factor\":8}"},
      {"rope_scaling", "{\"factor\":2}"},
      {"rope_interleaved", "true"},
      {"partial_rotary_factor", "0.5"},
  };
  for (const auto& [key, value] : cases) {
    const Error error = refused(key, value);
    EXPECT_EQ(error.code, ErrorCode::kUnsupportedArchitecture) << error.message;
    EXPECT_NE(error.message.find(key), std::string::npos) << error.message;
  }
}

TEST(ConfigFromJson, RefusesNumbersThatCannotBe) {
  const struct {
    const char* key;
    const char* value;
  } cases[] = {
      {"num_attention_heads", "0"},
      {"num_attention_heads", "3"},
      {"num_attention_heads", "-4"},
      {"num_attention_heads", "4.5"},
      {"num_key_value_heads", "8"},
      {"num_hidden_layers", "0"},
      {"num_hidden_layers", "4294967296"},
      {"hidden_size", "4294967295"},
      {"vocab_size", "0"},
      {"head_dim", "12"},
      {"intermediate_size", "\"96\""},
      {"rope_theta", "0"},
      {"rope_theta", "-1"},
      {"rope_theta", "\"big\""},
      {"rms_norm_eps", "-1"},
      {"tie_word_embeddings", "1"},
  };
  for (const auto& [key, value] : cases) {
    const Error error = refused(key, value);
    EXPECT_EQ(error.code, ErrorCode::kBadConfig) << key << " = " << value << ": " << error.message;
  }
}

TEST(ConfigFromJson, NamesAMissingKey) {
  for (const char* key : {"num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size", "vocab_size",
                          "max_position_embeddings"}) {
    auto json = sound();
    json.erase(key);
    const auto config = model::config_from_json(json.dump());
    ASSERT_FALSE(config.has_value()) << key;
    EXPECT_EQ(config.error().code, ErrorCode::kMissingMetadata);
    EXPECT_NE(config.error().message.find(key), std::string::npos) << config.error().message;
  }
}

TEST(ConfigFromJson, RefusesTextThatIsNoObject) {
  for (const std::string text : {"", "[]", "{", "null", "<!doctype html>", "{\"a\":1}trailing"}) {
    const auto config = model::config_from_json(text);
    ASSERT_FALSE(config.has_value()) << text;
  }
}

TEST(ConfigFromJson, RefusesAKeyThatStandsTwice) {
  std::string text = sound().dump();
  text.insert(1, "\"hidden_size\": 32, ");
  const auto config = model::config_from_json(text);
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().code, ErrorCode::kBadConfig);
  EXPECT_NE(config.error().message.find("hidden_size"), std::string::npos) << config.error().message;
}

TEST(ConfigFromJson, RefusesHeadsInNoWholeGroup) {
  const auto config = model::config_from_json(read_text("tests/data/reference/malformed/cfg_heads_mismatch.json"));
  ASSERT_TRUE(!config || !model::check_config(*config));
}

}  // namespace
}  // namespace lookback::test
