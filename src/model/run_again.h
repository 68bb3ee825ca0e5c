// One position of a kept pass, run again over its kept keys and values, with the residual stream written down.
#pragma once

#include <cstdint>

#include "lookback/types.h"
#include "model/forward.h"
#include "model/kept_pass.h"

namespace lookback::model {

/// The stream at pos, with the pass's own switches. Errors: out_of_memory, non_finite.
Result<Trace> run_again(Forward& forward, const KeptPass& pass, std::uint32_t pos);

/// [n_layer+1, k] each: the top tokens when the network ended after layer n (0: the embedding), the final norm's scale
/// recomputed from each stream. The last row is the model's own output.
Result<TopTokens> lens(Forward& forward, const KeptPass& pass, std::uint32_t pos, std::uint32_t k);

/// Mean over the vocabulary of lm_head's rows [n_embd], in f64.
std::vector<double> mean_head_row(const Weights& weights, base::ThreadPool& pool);

/// The logit of `token` as a sum: term = (part · s · final_norm) · (lm_head[token] - baseline), with
/// s = 1/sqrt(mean(x²) + eps) of the whole stream held fixed. Parts: the embedding, each head after o_proj, each MLP.
/// baseline [n_embd], or empty for none. Sums in f64.
Result<Attribution> attribution(Forward& forward, const KeptPass& pass, TokenId token, std::uint32_t pos,
                                std::span<const double> baseline);

}  // namespace lookback::model
