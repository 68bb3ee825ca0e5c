// A row of logits as a distribution over the whole vocabulary.
#pragma once

#include <cstdint>
#include <span>

#include "lookback/types.h"

namespace lookback::model {

/// ln Σ exp(logits[i]), in f64. ln p[i] = logits[i] - this.      Shape: logits [n_vocab]
double log_sum_exp(std::span<const float> logits);

/// Σ p ln(p/q) in nats, summed in f64.      Shape: p_logits, q_logits [n_vocab]
double kl_divergence(std::span<const float> p_logits, std::span<const float> q_logits);

/// The k tokens of highest logit, falling; the lower id first among equals. Written to ids, logits and probabilities
/// [k], k <= n_vocab. Probabilities are over the whole vocabulary.
void top_tokens(std::span<const float> logits, std::span<TokenId> ids, std::span<float> top_logits,
                std::span<float> probabilities);

}  // namespace lookback::model
