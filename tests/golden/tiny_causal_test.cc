// The causal numbers in small: every logit with heads and links off, every stream of the lens, on tiny-F32.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/open_model.h"
#include "tests/support/tolerance.h"

namespace lookback::test {
namespace {

class TinyCausal : public testing::Test {
 protected:
  TinyCausal()
      : model_(open_model("tests/data/reference/tiny/tiny-F32.gguf")),
        json_(read_json("tests/data/reference/tiny/tiny-F32.causal.json")),
        ids_(ids_of(json_["ids"])),
        query_(json_["query"]),
        target_(json_["target"]),
        clean_(run_pass(*model_.engine, ids_)) {}

  void expect_logits(const Array<float>& logits, const nlohmann::json& expected, const std::string& what) {
    ASSERT_EQ(logits.size(), expected.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(logits[i]), expected[i].get<double>(), kTinyLogit) << what << " token " << i;
    }
  }

  OpenModel model_;
  nlohmann::json json_;
  std::vector<TokenId> ids_;
  std::uint32_t query_;
  TokenId target_;
  std::unique_ptr<Pass> clean_;
};

std::vector<Off> off_of(const nlohmann::json& entries) {
  std::vector<Off> off;
  for (const auto& entry : entries) {
    Off one{.layer = entry[0], .head = entry[1], .link = {}};
    if (entry.size() == 4) one.link = Off::Link{.query = entry[2], .key = entry[3]};
    off.push_back(one);
  }
  return off;
}

TEST_F(TinyCausal, HeadsOff) {
  for (const auto& entry : json_["heads_off"]) {
    const auto pass = run_pass(*model_.engine, ids_, {.off = off_of(entry["heads"])});
    const auto logits = must(pass->logits(query_));
    expect_logits(logits, entry["logits_query"], entry["heads"].dump());
    EXPECT_NEAR(probability(logits, target_), entry["prob"].get<double>(), kProbability);
  }
}

TEST_F(TinyCausal, EffectsAreTheSameAsPassesWithOneHeadOff) {
  std::vector<EffectRow> rows;
  const auto effects = must(clean_->effects(target_, query_));
  for (bool done = false; !done;) {
    const auto status = must(effects->step());
    rows.insert(rows.end(), status.rows.begin(), status.rows.end());
    done = status.done;
  }
  ASSERT_EQ(rows.size(), 12u);
  std::size_t n_found = 0;
  for (const auto& entry : json_["heads_off"]) {
    if (entry["heads"].size() != 1) continue;
    for (const auto& row : rows) {
      if (row.layer != entry["heads"][0][0] || row.head != entry["heads"][0][1]) continue;
      ++n_found;
      EXPECT_NEAR(row.probability, entry["prob"].get<double>(), kProbability);
      EXPECT_NEAR(row.kl, entry["kl"].get<double>(), kKl);
    }
  }
  EXPECT_EQ(n_found, 12u);
}

TEST_F(TinyCausal, EffectsOnTopOfSwitches) {
  const std::vector<Off> base = {{0, 1, {}}, {1, 2, Off::Link{.query = 11, .key = 3}}};
  const auto pass = run_pass(*model_.engine, ids_, {.off = base});
  const auto clean = must(pass->logits(query_));
  const auto effects = must(pass->effects(target_, query_));
  for (bool done = false; !done;) {
    const auto status = must(effects->step());
    for (const auto& row : status.rows) {
      auto off = base;
      off.push_back({row.layer, row.head, {}});
      const auto alone = run_pass(*model_.engine, ids_, {.off = off});
      EXPECT_NEAR(row.probability, probability(must(alone->logits(query_)), target_), kProbability);
      if (row.layer == 0 && row.head == 1) EXPECT_NEAR(row.kl, 0, 1e-9);  // off already
    }
    done = status.done;
  }
}

TEST_F(TinyCausal, EffectsAtAnEarlierPosition) {
  const std::uint32_t pos = 4;
  const auto effects = must(clean_->effects(target_, pos));
  for (bool done = false; !done;) {
    const auto status = must(effects->step());
    for (const auto& row : status.rows) {
      const auto alone = run_pass(*model_.engine, ids_, {.off = {{row.layer, row.head, {}}}});
      EXPECT_NEAR(row.probability, probability(must(alone->logits(pos)), target_), kProbability);
    }
    done = status.done;
  }
}

TEST_F(TinyCausal, LinksOff) {
  for (const auto& entry : json_["links"]) {
    const auto off = off_of(entry["links"]);
    const auto pass = run_pass(*model_.engine, ids_, {.off = off});
    expect_logits(must(pass->logits(query_)), entry["renorm"]["logits"], entry["links"].dump());
  }
}

TEST_F(TinyCausal, CuttingTheLastKeyIsAnError) {
  for (const auto& off :
       {off_of(nlohmann::json::parse("[[0,0,0,0]]")), off_of(nlohmann::json::parse("[[1,2,1,0],[1,2,1,1]]"))}) {
    const auto pass = model_.engine->create_pass({.off = off});
    ASSERT_FALSE(pass.has_value());
    EXPECT_EQ(pass.error().code, ErrorCode::kBadArgument);
    EXPECT_NE(pass.error().message.find("no key left"), std::string::npos) << pass.error().message;
  }
}

TEST_F(TinyCausal, LensOfEveryLayer) {
  const std::uint32_t k = model_.info.config.n_vocab;
  std::size_t n_checked = 0;
  for (std::uint32_t pos = 0; pos < ids_.size(); ++pos) {
    const auto lens = must(clean_->lens(pos, k));
    for (const auto& entry : json_["lens"]) {
      const std::size_t first = entry["layer"].get<std::size_t>() * k;
      for (std::size_t i = 0; i < k; ++i) {
        const auto id = static_cast<std::size_t>(lens.ids[first + i]);
        ASSERT_NEAR(static_cast<double>(lens.logits[first + i]), entry["logits"][pos][id].get<double>(), kTinyLogit);
        ++n_checked;
      }
    }
  }
  EXPECT_EQ(n_checked, 12u * 4 * 300);
}

TEST_F(TinyCausal, Attribution) {
  const auto& expected = json_["attribution"];
  const auto result = must(clean_->attribution(expected["target"][0], expected["pos"], Pass::Centre::kNone));
  EXPECT_NEAR(static_cast<double>(result.embedding), expected["target_terms"]["embedding"].get<double>(),
              kAttributionTerm);
  for (std::size_t i = 0; i < result.heads.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(result.heads[i]), expected["target_terms"]["heads"][i / 4][i % 4].get<double>(),
                kAttributionTerm);
  }
  for (std::size_t i = 0; i < result.mlps.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(result.mlps[i]), expected["target_terms"]["mlps"][i].get<double>(),
                kAttributionTerm);
  }
  EXPECT_NEAR(static_cast<double>(result.logit), expected["logit"].get<double>(), kTinyLogit);
}

TEST_F(TinyCausal, WrittenNormsAndProducts) {
  for (const auto& expected : json_["value_weighted"]) {
    const auto written = must(clean_->written(expected["layer"], expected["head"], expected["pos"]));
    for (std::size_t key = 0; key < written.size(); ++key) {
      EXPECT_NEAR(static_cast<double>(written[key]), expected["share_x_ov"][key].get<double>(), 1e-4);
    }
  }
  for (const auto& expected : json_["slot_products"]) {
    const auto products = must(clean_->products(expected["layer"], expected["head"], expected["q"], expected["k"]));
    for (std::size_t i = 0; i < products.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(products[i]), expected["hf_order"][i].get<double>(), 1e-4);
    }
  }
}

TEST_F(TinyCausal, ProductsHaveOneOrderWhateverTheFile) {
  auto hf = open_model("tests/data/reference/tiny/tiny-hf-F32/model.safetensors",
                       "tests/data/reference/tiny/tiny-hf-F32/config.json");
  const auto pass = run_pass(*hf.engine, ids_);
  const auto from_gguf = must(clean_->products(1, 2, 11, 3));
  const auto from_hf = must(pass->products(1, 2, 11, 3));
  EXPECT_LE(largest_difference(from_gguf.span(), from_hf.span()), 1e-4);
}

TEST_F(TinyCausal, HeadStats) {
  const auto stats = must(clean_->head_stats());
  const char* const names[] = {"previous_token", "first_token", "self", "induction", "duplicate_token", "entropy"};
  for (std::size_t i = 0; i < stats.size(); ++i) {
    const auto& expected = json_["head_stats"][names[i % 6]][i / 6 / 4][i / 6 % 4];
    EXPECT_NEAR(static_cast<double>(stats[i]), expected.get<double>(), kHeadStat)
        << names[i % 6] << " of head " << i / 6;
  }
}

TEST_F(TinyCausal, AblationWithAKeptPrefix) {
  for (const auto& expected : json_["ablation_kv"]) {
    const auto off = off_of(expected["heads"]);
    const auto n = expected["split"].get<std::size_t>();
    const auto prefix = run_pass(*model_.engine, std::span(ids_).first(n), {.off = off});
    const auto pass =
        must(model_.engine->create_pass({.off = off, .prefix = prefix.get(), .prefix_length = prefix->length()}));
    must(run(*pass, std::span(ids_).subspan(n)));
    expect_logits(must(pass->logits(expected["pos"])), expected["all_positions"]["logits"], expected["heads"].dump());
  }
}

}  // namespace
}  // namespace lookback::test
