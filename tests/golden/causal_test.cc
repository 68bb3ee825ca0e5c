// Heads and links off, effects, lens, attribution, written norms, products and head statistics of the real weights
// against the float64 referee.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/open_model.h"
#include "tests/support/tolerance.h"

namespace lookback::test {
namespace {

OpenModel& model() {
  static OpenModel model = open_model(kRealWeights);
  return model;
}

std::vector<Off> heads_off(const nlohmann::json& heads) {
  std::vector<Off> off;
  for (const auto& head : heads) off.push_back({.layer = head[0], .head = head[1], .link = {}});
  return off;
}

std::vector<Off> links_off(const nlohmann::json& links) {
  std::vector<Off> off;
  for (const auto& link : links) {
    off.push_back({.layer = link[0], .head = link[1], .link = Off::Link{.query = link[2], .key = link[3]}});
  }
  return off;
}

/// Σ p ln(p/q) over the vocabulary.
double kl(const Array<float>& p, const Array<float>& q) {
  double sum = 0;
  double p_sum = 0;
  double q_sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    p_sum += std::exp(static_cast<double>(p[i]));
    q_sum += std::exp(static_cast<double>(q[i]));
  }
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double log_p = static_cast<double>(p[i]) - std::log(p_sum);
    sum += std::exp(log_p) * (log_p - static_cast<double>(q[i]) + std::log(q_sum));
  }
  return sum;
}

class Causal : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    json_ = read_json("tests/data/reference/causal_" + std::string(GetParam()) + ".json");
    ids_ = ids_of(json_["ids"]);
    query_ = json_["query"];
    target_ = json_["target"][0];
    clean_ = run_pass(*model().engine, ids_);
  }

  /// A pass with these switches: the target's logit and probability and the KL at the query.
  void expect_off(const std::vector<Off>& off, double logit, double prob, double divergence, const std::string& what) {
    const auto pass = run_pass(*model().engine, ids_, {.off = off});
    const auto logits = must(pass->logits(query_));
    EXPECT_NEAR(static_cast<double>(logits[static_cast<std::size_t>(target_)]), logit, kLogit) << what;
    EXPECT_NEAR(probability(logits, target_), prob, kProbability) << what;
    EXPECT_NEAR(kl(must(clean_->logits(query_)), logits), divergence, kKl) << what;
  }

  nlohmann::json json_;
  std::vector<TokenId> ids_;
  std::uint32_t query_ = 0;
  TokenId target_ = 0;
  std::unique_ptr<Pass> clean_;
};

TEST_P(Causal, EffectsOfAllHeads) {
  const auto effects = must(clean_->effects(target_, query_));
  const std::uint32_t n_layer = model().info.config.n_layer;
  const std::uint32_t n_head = model().info.config.n_head;
  std::uint32_t n_rows = 0;
  for (bool done = false; !done;) {
    const auto status = must(effects->step());
    for (const auto& row : status.rows) {
      EXPECT_EQ(row.layer, n_rows / n_head);
      EXPECT_EQ(row.head, n_rows % n_head);
      ++n_rows;
      EXPECT_NEAR(row.probability, json_["head_off"]["prob"][row.layer][row.head].get<double>(), kProbability)
          << row.layer << "." << row.head;
      EXPECT_NEAR(row.kl, json_["head_off"]["kl"][row.layer][row.head].get<double>(), kKl)
          << row.layer << "." << row.head;
    }
    done = status.done;
  }
  EXPECT_EQ(n_rows, n_layer * n_head);
}

TEST_P(Causal, SetsOfHeadsOff) {
  for (const auto& set : json_["set_off"]) {
    expect_off(heads_off(set["heads"]), set["logit"], set["prob"], set["kl"], set["heads"].dump());
  }
}

TEST_P(Causal, LayersOff) {
  for (std::uint32_t layer = 0; layer < model().info.config.n_layer; layer += 7) {
    std::vector<Off> off;
    for (std::uint32_t head = 0; head < model().info.config.n_head; ++head) off.push_back({layer, head, {}});
    const auto& all = json_["layer_off"];
    expect_off(off, all["logit"][layer], all["prob"][layer], all["kl"][layer], "layer " + std::to_string(layer));
  }
}

TEST_P(Causal, LinksOff) {
  for (const auto& entry : json_["links"]) {
    const auto off = links_off(entry["links"]);
    if (!entry["renorm"].is_object() || !entry["renorm"].contains("logit")) {  // no key is left
      const auto pass = model().engine->create_pass({.off = off});
      ASSERT_FALSE(pass.has_value());
      EXPECT_EQ(pass.error().code, ErrorCode::kBadArgument);
      continue;
    }
    expect_off(off, entry["renorm"]["logit"], entry["renorm"]["prob"], entry["renorm"]["kl"], entry["links"].dump());
    if (entry["links"].size() != 1) continue;
    const auto pass = run_pass(*model().engine, ids_, {.off = off});
    const auto row = must(pass->row(off[0].layer, off[0].head, off[0].link->query));
    for (std::size_t key = 0; key < row.share.size(); ++key) {
      const bool cut = key == off[0].link->key;
      EXPECT_NEAR(static_cast<double>(row.share[key]), entry["renorm"]["row"][key].get<double>(), kShare);
      EXPECT_EQ(std::isinf(row.scaled[key]), cut);
      EXPECT_TRUE(std::isfinite(row.qk[key]));
    }
    EXPECT_EQ(row.share[off[0].link->key], 0);
  }
}

TEST_P(Causal, Lens) {
  const std::uint32_t k = model().info.config.n_vocab;
  const auto lens = must(clean_->lens(query_, k));
  for (std::size_t layer = 0; layer < json_["lens"].size(); ++layer) {
    const auto& expected = json_["lens"][layer];
    const std::size_t first = layer * k;
    if (expected["margin"].get<double>() > 1e-3) EXPECT_EQ(lens.ids[first], expected["top5"][0][0].get<TokenId>());
    EXPECT_NEAR(static_cast<double>(lens.probabilities[first]), expected["top5"][0][3].get<double>(), kLensProbability);
    for (std::size_t rank = 0; rank < k; ++rank) {
      if (lens.ids[first + rank] != target_) continue;
      const double expected_rank = expected["target_rank"].get<double>() - 1;
      EXPECT_NEAR(static_cast<double>(rank), expected_rank, std::max(1.0, 0.01 * expected_rank)) << "layer " << layer;
      EXPECT_NEAR(static_cast<double>(lens.probabilities[first + rank]), expected["target_prob"].get<double>(),
                  kLensProbability);
    }
  }
  // The last layer is the model's own output.
  const auto top = must(clean_->top(10, query_));
  const std::size_t last = std::size_t{model().info.config.n_layer} * k;
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(lens.ids[last + i], top.ids[i]);
    EXPECT_NEAR(static_cast<double>(lens.logits[last + i]), static_cast<double>(top.logits[i]), kPrefix);
  }
}

TEST_P(Causal, Attribution) {
  const auto& expected = json_["attribution"];
  const auto check = [&](const Attribution& terms, const auto& of) {
    const std::uint32_t n_head = model().info.config.n_head;
    double sum = static_cast<double>(terms.embedding);
    EXPECT_NEAR(sum, of("embedding", 0, 0), kAttributionTerm);
    for (std::uint32_t i = 0; i < terms.heads.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(terms.heads[i]), of("heads", i / n_head, i % n_head), kAttributionTerm) << i;
      sum += static_cast<double>(terms.heads[i]);
    }
    for (std::uint32_t i = 0; i < terms.mlps.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(terms.mlps[i]), of("mlps", i, 0), kAttributionTerm) << "MLP " << i;
      sum += static_cast<double>(terms.mlps[i]);
    }
    EXPECT_NEAR(sum, static_cast<double>(terms.logit), kLogit);
  };
  const auto term = [](const nlohmann::json& terms, const std::string& part, std::uint32_t i, std::uint32_t j) {
    if (part == "embedding") return terms[part].get<double>();
    return part == "heads" ? terms[part][i][j].get<double>() : terms[part][i].get<double>();
  };
  for (const std::string who : {"target", "rival"}) {
    const auto& terms = expected[who + "_terms"];
    const auto result = must(clean_->attribution(expected[who][0], query_, Pass::Centre::kNone));
    check(result, [&](const std::string& part, std::uint32_t i, std::uint32_t j) { return term(terms, part, i, j); });
    const auto logits = must(clean_->logits(query_));
    EXPECT_NEAR(static_cast<double>(result.logit), static_cast<double>(logits[expected[who][0].get<std::size_t>()]),
                kLogit);
  }
  const auto centred = must(clean_->attribution(target_, query_, Pass::Centre::kVocabularyMean));
  check(centred, [&](const std::string& part, std::uint32_t i, std::uint32_t j) {
    return term(expected["target_terms"], part, i, j) - term(expected["vocab_mean_terms"], part, i, j);
  });
  EXPECT_NEAR(static_cast<double>(centred.logit),
              expected["logit"].get<double>() - expected["vocab_mean_logit"].get<double>(), kLogit);
}

TEST_P(Causal, WrittenNorms) {
  for (const auto& expected : json_["value_weighted"]) {
    const auto written = must(clean_->written(expected["layer"], expected["head"], expected["pos"]));
    ASSERT_EQ(written.size(), expected["share_x_ov"].size());
    for (std::size_t key = 0; key < written.size(); ++key) {
      // A share's tolerance, times the norm that it multiplies.
      const double tolerance = kShare * (1 + expected["ov_norm"][key].get<double>());
      EXPECT_NEAR(static_cast<double>(written[key]), expected["share_x_ov"][key].get<double>(), tolerance);
    }
  }
}

TEST_P(Causal, ProductsInHalfSplitOrder) {
  for (const auto& expected : json_["slot_products"]) {
    const auto products = must(clean_->products(expected["layer"], expected["head"], expected["q"], expected["k"]));
    double sum = 0;
    for (std::size_t i = 0; i < products.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(products[i]), expected["hf_order"][i].get<double>(), kQk) << i;
      sum += static_cast<double>(products[i]);
    }
    EXPECT_NEAR(sum, expected["qk"].get<double>(), kQk);
  }
}

TEST_P(Causal, AblationWithAKeptPrefix) {
  for (const auto& expected : json_["ablation_kv"]) {
    const auto off = heads_off(expected["heads"]);
    const auto split = std::span(ids_).first(expected["split"].get<std::size_t>());
    const auto prefix = run_pass(*model().engine, split, {.off = off});
    const PassOptions options{.off = off, .prefix = prefix.get(), .prefix_length = prefix->length()};
    const auto pass = must(model().engine->create_pass(options));
    must(run(*pass, std::span(ids_).subspan(split.size())));
    const auto logits = must(pass->logits(expected["pos"]));
    for (const auto& top : expected["all_positions"]["top"]) {
      EXPECT_NEAR(static_cast<double>(logits[top[0].get<std::size_t>()]), top[2].get<double>(), kLogit);
    }
    // A prefix that ran with other switches holds other keys; it is refused, not reused.
    const auto stale = model().engine->create_pass({.off = off, .prefix = clean_.get(), .prefix_length = 3});
    ASSERT_FALSE(stale.has_value());
    EXPECT_EQ(stale.error().code, ErrorCode::kWrongState);
  }
}

INSTANTIATE_TEST_SUITE_P(Prompts, Causal, testing::Values("words", "trophy"),
                         [](const auto& info) { return std::string(info.param); });

class HeadStats : public testing::TestWithParam<const char*> {};

TEST_P(HeadStats, AllHeads) {
  const auto json = read_json("tests/data/reference/causal_" + std::string(GetParam()) + ".json");
  const auto pass = run_pass(*model().engine, ids_of(json["ids"]));
  const auto stats = must(pass->head_stats());
  const std::uint32_t n_head = model().info.config.n_head;
  const char* const names[] = {"previous_token", "first_token", "self", "induction", "duplicate_token", "entropy"};
  ASSERT_EQ(stats.size(), std::size_t{model().info.config.n_layer} * n_head * std::size(names));
  for (std::size_t i = 0; i < stats.size(); ++i) {
    const auto& expected = json["head_stats"][names[i % 6]];
    const std::size_t head = i / 6;
    if (expected.is_null()) {
      EXPECT_TRUE(std::isnan(stats[i])) << names[i % 6];
      continue;
    }
    EXPECT_NEAR(static_cast<double>(stats[i]), expected[head / n_head][head % n_head].get<double>(), kHeadStat)
        << names[i % 6] << " of head " << head;
  }
}

INSTANTIATE_TEST_SUITE_P(Prompts, HeadStats, testing::Values("words", "trophy", "passage"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Switches, AWholeLayerOffAddsExactlyNothing) {
  const auto ids = ids_of(read_json("tests/data/reference/causal_words.json")["ids"]);
  const std::uint32_t layer = 12;
  std::vector<Off> off;
  for (std::uint32_t head = 0; head < model().info.config.n_head; ++head) off.push_back({layer, head, {}});
  const auto pass = run_pass(*model().engine, ids, {.off = off});
  const auto attribution = must(pass->attribution(ids[0], 5, Pass::Centre::kNone));
  for (std::uint32_t head = 0; head < model().info.config.n_head; ++head) {
    EXPECT_EQ(attribution.heads[std::size_t{layer} * model().info.config.n_head + head], 0);
  }
}

TEST(Switches, OffAndOnAgainRestoresTheBits) {
  const auto ids = ids_of(read_json("tests/data/reference/causal_words.json")["ids"]);
  const auto before = must(run_pass(*model().engine, ids)->logits(13));
  const auto off = must(run_pass(*model().engine, ids, {.off = {{17, 4, {}}}})->logits(13));
  const auto after = must(run_pass(*model().engine, ids)->logits(13));
  EXPECT_GT(largest_difference(before.span(), off.span()), 0.1);
  EXPECT_EQ(largest_difference(before.span(), after.span()), 0);
}

TEST(Switches, ReadingChangesNoBits) {
  const auto ids = ids_of(read_json("tests/data/reference/causal_words.json")["ids"]);
  const auto pass = run_pass(*model().engine, ids);
  const auto none = run_pass(*model().engine, ids, {.keep = Keep::kNone});
  const auto before = must(pass->logits(18));
  EXPECT_EQ(largest_difference(before.span(), must(none->logits(18)).span()), 0);
  const auto row = must(pass->row(17, 4, 13));
  must(pass->lens(13, 3));
  must(pass->attribution(6249, 13, Pass::Centre::kVocabularyMean));
  must(must(pass->effects(6249, 13))->step());
  EXPECT_EQ(largest_difference(before.span(), must(pass->logits(18)).span()), 0);
  EXPECT_EQ(largest_difference(row.share.span(), must(pass->row(17, 4, 13)).share.span()), 0);
}

}  // namespace
}  // namespace lookback::test
