#include "model/distribution.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace lookback::model {

double log_sum_exp(std::span<const float> logits) {
  const double max = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - max);
  return max + std::log(sum);
}

Result<KlFrom> KlFrom::create(std::span<const float> p_logits) {
  KlFrom from;
  auto p = Array<double>::create(p_logits.size(), "probabilities");
  if (!p) return p.error();
  const double norm = log_sum_exp(p_logits);
  for (std::size_t i = 0; i < p_logits.size(); ++i) {
    const double log_p = static_cast<double>(p_logits[i]) - norm;
    (*p)[i] = std::exp(log_p);
    from.minus_entropy_ += (*p)[i] * log_p;
  }
  from.p_ = std::move(*p);
  return from;
}

double KlFrom::to(std::span<const float> q_logits, double q_log_sum) const {
  CHECK(p_.size() == q_logits.size(), "two distributions over one vocabulary");
  double cross = 0;
  for (std::size_t i = 0; i < q_logits.size(); ++i) cross += p_[i] * (static_cast<double>(q_logits[i]) - q_log_sum);
  return minus_entropy_ - cross;
}

void top_tokens(std::span<const float> logits, std::span<TokenId> ids, std::span<float> top_logits,
                std::span<float> probabilities) {
  const std::size_t k = ids.size();
  CHECK(k <= logits.size() && top_logits.size() == k && probabilities.size() == k, "k fits the vocabulary");
  if (k == 0) return;
  const auto before = [&](TokenId a, TokenId b) {
    const float la = logits[static_cast<std::size_t>(a)];
    const float lb = logits[static_cast<std::size_t>(b)];
    return la > lb || (la == lb && a < b);
  };
  // A heap of the best k so far, its worst on top; most tokens fail the first comparison.
  std::size_t n = 0;
  for (TokenId id = 0; static_cast<std::size_t>(id) < logits.size(); ++id) {
    if (n < k) {
      ids[n++] = id;
      std::push_heap(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n), before);
    } else if (before(id, ids[0])) {
      std::pop_heap(ids.begin(), ids.end(), before);
      ids[k - 1] = id;
      std::push_heap(ids.begin(), ids.end(), before);
    }
  }
  std::sort_heap(ids.begin(), ids.end(), before);
  const double norm = log_sum_exp(logits);
  for (std::size_t i = 0; i < k; ++i) {
    top_logits[i] = logits[static_cast<std::size_t>(ids[i])];
    probabilities[i] = static_cast<float>(std::exp(static_cast<double>(top_logits[i]) - norm));
  }
}

}  // namespace lookback::model
