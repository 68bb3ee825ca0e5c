// Small random models in every format and dtype, whole passes against the float64 referee.
#include <gtest/gtest.h>

#include "tests/support/open_model.h"
#include "tests/support/tolerance.h"

namespace lookback::test {
namespace {

const std::string kFolder = "tests/data/reference/tiny/";

struct TinyModel {
  const char* name;    // of <name>.expected.json
  const char* file;    // in the folder
  const char* config;  // config.json, or null: the file says it
};

const TinyModel kModels[] = {
    {"tiny-F32", "tiny-F32.gguf", nullptr},
    {"tiny-F16", "tiny-F16.gguf", nullptr},
    {"tiny-BF16", "tiny-BF16.gguf", nullptr},
    {"tiny-Q8_0", "tiny-Q8_0.gguf", nullptr},
    {"tiny-Q4_0", "tiny-Q4_0.gguf", nullptr},
    {"tiny-Q4_1", "tiny-Q4_1.gguf", nullptr},
    {"tiny-Q5_0", "tiny-Q5_0.gguf", nullptr},
    {"tiny-Q5_1", "tiny-Q5_1.gguf", nullptr},
    {"tiny-untied-F32", "tiny-untied-F32.gguf", nullptr},
    {"tiny256-Q4_K", "tiny256-Q4_K.gguf", nullptr},
    {"tiny256-Q6_K", "tiny256-Q6_K.gguf", nullptr},
    {"tiny-hf-F32", "tiny-hf-F32/model.safetensors", "tiny-hf-F32/config.json"},
    {"tiny-hf-F16", "tiny-hf-F16/model.safetensors", "tiny-hf-F16/config.json"},
    {"tiny-hf-BF16", "tiny-hf-BF16/model.safetensors", "tiny-hf-BF16/config.json"},
    {"tiny-onnx-optimum", "tiny-onnx-optimum.onnx", "tiny-hf-F32/config.json"},
    {"tiny-onnx-named", "tiny-onnx-named.onnx", "tiny-hf-F32/config.json"},
};

OpenModel open_tiny(const TinyModel& tiny, const EngineOptions& options = {}) {
  std::optional<std::string> config;
  if (tiny.config != nullptr) config = kFolder + tiny.config;
  return open_model(kFolder + tiny.file, config, options);
}

class Tiny : public testing::TestWithParam<TinyModel> {
 protected:
  void SetUp() override {
    expected_ = read_json(kFolder + GetParam().name + ".expected.json");
    ids_ = ids_of(expected_["ids"]);
  }
  void expect_logits(const Pass& pass, double tolerance) {
    for (std::uint32_t pos = 0; pos < ids_.size(); ++pos) {
      const auto logits = must(pass.logits(pos));
      ASSERT_EQ(logits.size(), expected_["logits"][pos].size());
      for (std::size_t i = 0; i < logits.size(); ++i) {
        ASSERT_NEAR(static_cast<double>(logits[i]), expected_["logits"][pos][i].get<double>(), tolerance)
            << "position " << pos << " token " << i;
      }
      EXPECT_EQ(argmax(logits), expected_["argmax"][pos].get<TokenId>());
    }
  }
  nlohmann::json expected_;
  std::vector<TokenId> ids_;
};

TEST_P(Tiny, LogitsOfEveryPosition) {
  auto model = open_tiny(GetParam());
  expect_logits(*run_pass(*model.engine, ids_), kTinyLogit);
}

TEST_P(Tiny, OneTokenAtATimeGivesTheSame) {
  auto model = open_tiny(GetParam());
  const auto pass = must(model.engine->create_pass({}));
  for (const TokenId id : ids_) must(run(*pass, {&id, 1}));
  expect_logits(*pass, kTinyLogit);
}

TEST_P(Tiny, SixteenGreedyTokens) {
  auto model = open_tiny(GetParam());
  const auto pass = run_pass(*model.engine, ids_);
  for (const auto& id : expected_["greedy16"]) {
    const auto top = must(pass->top(1, pass->length() - 1));
    ASSERT_EQ(top.ids[0], id.get<TokenId>()) << "after " << pass->length() << " tokens";
    must(run(*pass, top.ids.span()));
  }
}

TEST_P(Tiny, SaysWhatItIs) {
  const auto model = open_tiny(GetParam());
  const auto& config = expected_["config"];
  EXPECT_EQ(model.info.config.n_embd, config["hidden"]);
  EXPECT_EQ(model.info.config.n_ff, config["inter"]);
  EXPECT_EQ(model.info.config.n_layer, config["layers"]);
  EXPECT_EQ(model.info.config.n_head, config["heads"]);
  EXPECT_EQ(model.info.config.n_kv_head, config["kv"]);
  EXPECT_EQ(model.info.config.head_dim, config["hd"]);
  EXPECT_EQ(model.info.config.n_vocab, config["vocab"]);
  EXPECT_EQ(model.info.n_ctx, config["ctx"]);
  EXPECT_EQ(model.info.tied, config["tied"]);
  EXPECT_FLOAT_EQ(model.info.config.rope_base, config["theta"].get<float>());
}

INSTANTIATE_TEST_SUITE_P(Files, Tiny, testing::ValuesIn(kModels), [](const auto& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(TinyF32, EveryShare) {
  auto model = open_tiny(kModels[0]);
  const auto expected = read_json(kFolder + "tiny-F32.expected.json");
  const auto pass = run_pass(*model.engine, ids_of(expected["ids"]));
  for (std::uint32_t layer = 0; layer < expected["attention"].size(); ++layer) {
    for (std::uint32_t head = 0; head < expected["attention"][layer].size(); ++head) {
      const auto& rows = expected["attention"][layer][head];
      for (std::uint32_t query = 0; query < rows.size(); ++query) {
        const auto row = must(pass->row(layer, head, query));
        ASSERT_EQ(row.share.size(), rows[query].size());
        for (std::size_t key = 0; key < row.share.size(); ++key) {
          EXPECT_NEAR(static_cast<double>(row.share[key]), rows[query][key].get<double>(), kShare);
        }
      }
    }
  }
}

TEST(TinyF32, SeveralThreadsGiveTheSameBits) {
  const auto ids = ids_of(read_json(kFolder + "tiny-F32.expected.json")["ids"]);
  auto one = open_tiny(kModels[0]);
  auto three = open_tiny(kModels[0], {.n_threads = 3});
  const auto pass_one = run_pass(*one.engine, ids);
  const auto pass_three = run_pass(*three.engine, ids);
  for (std::uint32_t pos = 0; pos < ids.size(); ++pos) {
    EXPECT_EQ(largest_difference(must(pass_one->logits(pos)).span(), must(pass_three->logits(pos)).span()), 0);
  }
  EXPECT_EQ(largest_difference(must(pass_one->average()).span(), must(pass_three->average()).span()), 0);
}

}  // namespace
}  // namespace lookback::test
