// A row of logits as a distribution over the whole vocabulary.
#pragma once

#include <cstdint>
#include <span>

#include "lookback/types.h"

namespace lookback::model {

/// ln Σ exp(logits[i]), in f64. ln p[i] = logits[i] - this.      Shape: logits [n_vocab]
double log_sum_exp(std::span<const float> logits);

/// A distribution p that many others are compared with: its probabilities are computed once.
class KlFrom {
 public:
  KlFrom() = default;
  /// Errors: out_of_memory.
  static Result<KlFrom> create(std::span<const float> p_logits);

  /// Σ p ln(p/q) in nats = Σ p ln p - Σ p · q_logits + q_log_sum, in f64; q_log_sum is log_sum_exp(q_logits).
  double to(std::span<const float> q_logits, double q_log_sum) const;

 private:
  Array<double> p_;           // [n_vocab]
  double minus_entropy_ = 0;  // Σ p ln p
};

/// The k tokens of highest logit, falling; the lower id first among equals. Written to ids, logits and probabilities
/// [k], k <= n_vocab. Probabilities are over the whole vocabulary.
void top_tokens(std::span<const float> logits, std::span<TokenId> ids, std::span<float> top_logits,
                std::span<float> probabilities);

}  // namespace lookback::model
