// Whole passes of the real weights against the float64 referee: logits, top tokens, residual norms, attention.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/npy.h"
#include "tests/support/open_model.h"
#include "tests/support/tolerance.h"

namespace lookback::test {
namespace {

OpenModel& model() {
  static OpenModel model = open_model(kRealWeights);
  return model;
}

class Forward : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    json_ = read_json("tests/data/reference/forward_" + std::string(GetParam()) + ".json");
    ids_ = ids_of(json_["ids"]);
    pass_ = run_pass(*model().engine, ids_);
  }
  Npy golden(const std::string& array) {
    return read_npy("tests/data/golden/" + std::string(GetParam()) + "." + array + ".npy");
  }

  nlohmann::json json_;
  std::vector<TokenId> ids_;
  std::unique_ptr<Pass> pass_;
};

TEST_P(Forward, LogitsOfTheLastPosition) {
  const Npy expected = golden("logits_last");
  const auto logits = must(pass_->logits(pass_->length() - 1));
  ASSERT_EQ(logits.size(), expected.values.size());
  double worst = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(logits[i]) - expected.values[i]));
  }
  EXPECT_LE(worst, kLogit);
  RecordProperty("worst_logit_difference", std::to_string(worst));
}

TEST_P(Forward, TopTenOfEveryPosition) {
  const Npy argmax = golden("argmax");
  for (const auto& position : json_["positions"]) {
    const auto pos = position["pos"].get<std::uint32_t>();
    const auto logits = must(pass_->logits(pos));
    for (const auto& entry : position["top10"]) {
      const auto id = entry[0].get<std::size_t>();
      EXPECT_NEAR(static_cast<double>(logits[id]), entry[1].get<double>(), kLogit)
          << "position " << pos << " token " << id;
    }
    const auto top = must(pass_->top(10, pos));
    EXPECT_EQ(top.ids[0], static_cast<TokenId>(argmax(pos))) << "position " << pos;
    EXPECT_EQ(top.ids[0], position["top10"][0][0].get<TokenId>());
    EXPECT_NEAR(static_cast<double>(top.probabilities[0]), position["top10"][0][2].get<double>(), kProbability);
  }
}

TEST_P(Forward, ResidualNorms) {
  const Npy expected = golden("residual_l2");
  const std::size_t n_embd = model().info.config.n_embd;
  for (std::uint32_t pos = 0; pos < pass_->length(); pos += pass_->length() > 50 ? 13 : 1) {
    const auto stream = must(pass_->residual(pos));
    double longest = 0;  // what was rounded at this length stays when a later layer takes most of it back
    for (std::size_t layer = 0; layer < expected.shape[0]; ++layer) {
      double square = 0;
      for (const float value : stream.span().subspan(layer * n_embd, n_embd)) {
        square += static_cast<double>(value) * static_cast<double>(value);
      }
      const double norm = expected(layer, pos);
      longest = std::max(longest, norm);
      EXPECT_NEAR(std::sqrt(square), norm, kNormRelative * longest) << "position " << pos << " layer " << layer;
    }
  }
}

TEST_P(Forward, AttentionOfTheLastPosition) {
  const Npy expected = golden("attn_last");
  const auto look = must(pass_->look(pass_->length() - 1));
  ASSERT_EQ(look.size(), expected.values.size());
  for (std::size_t i = 0; i < look.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(look[i]), expected.values[i], kShareF16) << "element " << i;
  }
}

TEST_P(Forward, StoredRows) {
  ASSERT_FALSE(json_["attention_rows"].empty());
  for (const auto& expected : json_["attention_rows"]) {
    const auto row = must(pass_->row(expected["layer"], expected["head"], expected["pos"]));
    double sum = 0;
    for (std::size_t key = 0; key < row.share.size(); ++key) {
      EXPECT_NEAR(static_cast<double>(row.qk[key]), expected["qk"][key].get<double>(), kQk);
      EXPECT_NEAR(static_cast<double>(row.scaled[key]), expected["scaled"][key].get<double>(), kQk / 8);
      EXPECT_NEAR(static_cast<double>(row.share[key]), expected["share"][key].get<double>(), kShare);
      sum += static_cast<double>(row.share[key]);
    }
    EXPECT_NEAR(sum, 1, kSameSums);
  }
}

INSTANTIATE_TEST_SUITE_P(Prompts, Forward, testing::Values("words", "trophy", "chat", "passage", "mixed"),
                         [](const auto& info) { return std::string(info.param); });

class WholeAttention : public Forward {};

TEST_P(WholeAttention, EveryShareAndNothingAboveTheDiagonal) {
  const Npy expected = golden("attn");  // [layer, head, query, key]
  const std::size_t length = pass_->length();
  std::vector<double> sum(length * length);
  for (std::uint32_t layer = 0; layer < expected.shape[0]; ++layer) {
    for (std::uint32_t head = 0; head < expected.shape[1]; ++head) {
      const auto pattern = must(pass_->pattern(layer, head));
      for (std::size_t query = 0; query < length; ++query) {
        for (std::size_t key = 0; key < length; ++key) {
          const double share = static_cast<double>(pattern[query * length + key]);
          sum[query * length + key] += share;
          ASSERT_NEAR(share, expected(layer, head, query, key), kShare)
              << layer << "." << head << " " << query << " " << key;
          if (key > query) ASSERT_EQ(share, 0);
        }
      }
    }
  }
  const auto average = must(pass_->average());
  const auto column = must(pass_->looked_at_by(2));
  const double n_heads = static_cast<double>(expected.shape[0] * expected.shape[1]);
  for (std::size_t i = 0; i < sum.size(); ++i)
    EXPECT_NEAR(static_cast<double>(average[i]), sum[i] / n_heads, kSameSums);
  for (std::size_t i = 0; i < column.size(); ++i) {
    const std::size_t query = i % length;
    const double share = query < 2 ? 0 : expected(i / length / 9, i / length % 9, query, 2);
    EXPECT_NEAR(static_cast<double>(column[i]), share, kShare);
  }
}

INSTANTIATE_TEST_SUITE_P(Prompts, WholeAttention, testing::Values("words", "trophy"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Generation, FollowsTheStoredGreedyAnswer) {
  const auto json = read_json("tests/data/reference/forward_chat.json");
  const auto pass = run_pass(*model().engine, ids_of(json["ids"]));
  for (const auto& step : json["greedy"]["steps"]) {
    const auto top = must(pass->top(1, pass->length() - 1));
    ASSERT_EQ(top.ids[0], step["id"].get<TokenId>()) << "after " << pass->length() << " tokens";
    EXPECT_NEAR(static_cast<double>(top.logits[0]), step["logit"].get<double>(), kLogit);
    must(run(*pass, top.ids.span()));
  }
}

TEST(Generation, RowsOfNewTokens) {
  const auto generation = read_json("tests/data/reference/causal_words.json")["generation"];
  auto ids = ids_of(read_json("tests/data/reference/causal_words.json")["ids"]);
  const auto pass = run_pass(*model().engine, ids);
  for (const auto& step : generation["steps"]) {
    const auto top = must(pass->top(1, pass->length() - 1));
    ASSERT_EQ(top.ids[0], step["id"].get<TokenId>());
    must(run(*pass, top.ids.span()));
    for (const auto& head : generation["heads"]) {
      const std::string name = "L" + std::to_string(head[0].get<int>()) + "H" + std::to_string(head[1].get<int>());
      const auto row = must(pass->row(head[0], head[1], pass->length() - 1));
      for (std::size_t key = 0; key < row.share.size(); ++key) {
        EXPECT_NEAR(static_cast<double>(row.share[key]), step["rows"][name][key].get<double>(), kShare);
      }
    }
  }
}

TEST(Appending, LeavesEarlierRowsAndLogitsAsTheyWere) {
  const auto ids = ids_of(read_json("tests/data/reference/forward_words.json")["ids"]);
  const auto pass = run_pass(*model().engine, std::span(ids).first(11));
  const auto logits = must(pass->logits(7));
  const auto look = must(pass->look(7));
  must(run(*pass, std::span(ids).subspan(11)));
  EXPECT_LE(largest_difference(logits.span(), must(pass->logits(7)).span()), kSameSums);
  EXPECT_LE(largest_difference(look.span(), must(pass->look(7)).span()), kSameSums);
}

TEST(Prefix, AnEditGivesWhatAFreshPassGives) {
  auto ids = ids_of(read_json("tests/data/reference/forward_passage.json")["ids"]);
  const auto before = run_pass(*model().engine, ids);
  ids[150] = ids[20];
  const auto fresh = run_pass(*model().engine, ids);
  const auto edited = must(model().engine->create_pass({.prefix = before.get(), .prefix_length = 150}));
  must(run(*edited, std::span(ids).subspan(150)));
  const std::uint32_t last = fresh->length() - 1;
  EXPECT_LE(largest_difference(must(edited->logits(last)).span(), must(fresh->logits(last)).span()), kPrefix);
  EXPECT_LE(largest_difference(must(edited->look(last)).span(), must(fresh->look(last)).span()), kPrefix);
}

TEST(Fast, StaysNearAndKeepsTheTopToken) {
  auto fast = open_model(kRealWeights, {}, {.precision = Precision::kFast});
  EXPECT_EQ(fast.info.precision, Precision::kFast);
  for (const std::string prompt : {"words", "trophy", "chat"}) {
    const auto ids = ids_of(read_json("tests/data/reference/forward_" + prompt + ".json")["ids"]);
    const Npy expected = read_npy("tests/data/golden/" + prompt + ".logits_last.npy");
    const auto pass = run_pass(*fast.engine, ids);
    const auto logits = must(pass->logits(pass->length() - 1));
    double worst = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      worst = std::max(worst, std::abs(static_cast<double>(logits[i]) - expected.values[i]));
    }
    EXPECT_LE(worst, kFastLogit) << prompt;
    EXPECT_GT(worst, 0) << prompt;
    EXPECT_EQ(argmax(logits), static_cast<TokenId>(std::max_element(expected.values.begin(), expected.values.end()) -
                                                   expected.values.begin()));
  }
}

}  // namespace
}  // namespace lookback::test
