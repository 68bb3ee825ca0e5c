#include "model/head_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lookback::model {
namespace {

// The first positions have few keys to choose from; statistics about choice begin at this query.
constexpr std::uint32_t kFirstChoosingQuery = 4;

/// Sums and counts of one head over its rows.
struct Means {
  double sums[kHeadStats] = {};
  std::uint32_t counts[kHeadStats] = {};

  void add(std::size_t stat, double value) {
    sums[stat] += value;
    ++counts[stat];
  }
};

void add_row(std::span<const TokenId> ids, std::uint32_t t, std::span<const float> scaled,
             std::span<const float> shares, Means* means) {
  if (t >= 1) {
    means->add(0, static_cast<double>(shares[t - 1]));
    means->add(2, static_cast<double>(shares[t]));
  }
  double induction = 0;
  double duplicate = 0;
  bool has_induction = false;
  bool has_duplicate = false;
  for (std::uint32_t s = 0; s < t; ++s) {
    if (ids[s] != ids[t]) continue;
    duplicate += static_cast<double>(shares[s]);
    has_duplicate = true;
    if (s + 1 < t) {
      induction += static_cast<double>(shares[s + 1]);
      has_induction = true;
    }
  }
  if (has_induction) means->add(3, induction);
  if (has_duplicate) means->add(4, duplicate);
  if (t < kFirstChoosingQuery) return;
  means->add(1, static_cast<double>(shares[0]));
  // -Σ A ln A, from the scores: ln A[k] = ln A[m] + scaled[k] - scaled[m], so one logarithm a row will do.
  const auto most = static_cast<std::size_t>(std::max_element(shares.begin(), shares.end()) - shares.begin());
  const double log_most = std::log(static_cast<double>(shares[most]));
  double entropy = 0;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    if (shares[k] == 0) continue;  // 0 ln 0 = 0; a cut link's score is -inf
    const double log_share = log_most + static_cast<double>(scaled[k]) - static_cast<double>(scaled[most]);
    entropy -= static_cast<double>(shares[k]) * log_share;
  }
  means->add(5, entropy);
}

}  // namespace

Result<Array<float>> head_stats(const ModelConfig& config, const KeptPass& pass, base::ThreadPool& pool) {
  const std::size_t n_heads = std::size_t{config.n_layer} * config.n_head;
  auto stats = Array<float>::create(n_heads * kHeadStats, "head statistics");
  if (!stats) return stats.error();
  const AttentionRows rows(config, pass, pool);
  pool.run(n_heads, 1, [&](std::size_t begin, std::size_t end, int) {
    std::vector<float> scaled(pass.length());
    std::vector<float> shares(pass.length());
    for (std::size_t i = begin; i < end; ++i) {
      Means means;
      for (std::uint32_t t = 0; t < pass.length(); ++t) {
        const auto row = std::span(shares).first(t + 1);
        const auto scores = std::span(scaled).first(t + 1);
        rows.share(static_cast<std::uint32_t>(i / config.n_head), static_cast<std::uint32_t>(i % config.n_head), t,
                   scores, row);
        add_row(pass.ids, t, scores, row, &means);
      }
      for (std::size_t stat = 0; stat < kHeadStats; ++stat) {
        (*stats)[i * kHeadStats + stat] = means.counts[stat] == 0
                                              ? std::numeric_limits<float>::quiet_NaN()
                                              : static_cast<float>(means.sums[stat] / means.counts[stat]);
      }
    }
  });
  return stats;
}

}  // namespace lookback::model
