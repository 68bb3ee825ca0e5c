#include "model/distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/support/seeded_rng.h"

namespace lookback::test {
namespace {

TEST(LogSumExp, IsSafeForLargeLogits) {
  const std::vector<float> logits = {1000, 1000, -1000};
  EXPECT_NEAR(model::log_sum_exp(logits), 1000 + std::log(2.0), 1e-12);
}

TEST(KlFrom, OfKnownDistributions) {
  const std::vector<float> p = {0, 0};
  const std::vector<float> q = {static_cast<float>(std::log(3.0)), 0};
  const auto from_p = model::KlFrom::create(p);
  ASSERT_TRUE(from_p.has_value());
  EXPECT_NEAR(from_p->to(q, model::log_sum_exp(q)), 0.5 * std::log(0.5 / 0.75) + 0.5 * std::log(0.5 / 0.25), 1e-7);
  EXPECT_NEAR(from_p->to(p, model::log_sum_exp(p)), 0, 1e-15);
}

TEST(TopTokens, AgreesWithAFullSort) {
  SeededRng rng(7);
  for (const std::size_t n : {1u, 2u, 10u, 300u}) {
    std::vector<float> logits(n);
    for (float& logit : logits) logit = static_cast<float>(rng.below(50));  // many equal ones
    std::vector<TokenId> sorted(n);
    std::iota(sorted.begin(), sorted.end(), 0);
    std::stable_sort(sorted.begin(), sorted.end(), [&](TokenId a, TokenId b) {
      return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
    });
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}, n / 2, n}) {
      std::vector<TokenId> ids(k);
      std::vector<float> top(k);
      std::vector<float> probabilities(k);
      model::top_tokens(logits, ids, top, probabilities);
      EXPECT_TRUE(std::equal(ids.begin(), ids.end(), sorted.begin())) << n << " " << k;
      if (k == n) {
        EXPECT_NEAR(std::accumulate(probabilities.begin(), probabilities.end(), 0.0), 1, 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace lookback::test
