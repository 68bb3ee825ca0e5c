// Head statistics: one number for what kind of attention a head pays in a pass.
#pragma once

#include <cstddef>

#include "lookback/types.h"
#include "model/attention_rows.h"

namespace lookback::model {

inline constexpr std::size_t kHeadStats = 6;

/// [n_layer · n_head, kHeadStats], sums in f64. With A[t, k] the share that query t gives to key k, T tokens:
///   previous_token   mean over t = 1..T-1 of A[t, t-1]
///   first_token      mean over t = 4..T-1 of A[t, 0]
///   self             mean over t = 1..T-1 of A[t, t]
///   induction        mean, over the t that have any, of the sum of A[t, s+1] over all s with s+1 < t, ids[s] = ids[t]
///   duplicate_token  the same of A[t, s] over all s < t with ids[s] = ids[t]
///   entropy          mean over t = 4..T-1 of -Σ A ln A, in nats
/// NaN where no t qualifies.
Result<Array<float>> head_stats(const ModelConfig& config, const KeptPass& pass, base::ThreadPool& pool);

}  // namespace lookback::model
