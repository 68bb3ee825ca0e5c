// Trace: what a pass may write down beyond keys and values, for rows that are looked at closely.
#pragma once

#include <cstring>

#include "base/aligned_buffer.h"
#include "lookback/types.h"

namespace lookback::model {

/// The residual stream and the heads' outputs of one row through all layers. Filled by Forward when a pointer to one is
/// handed in; null stores nothing.
struct Trace {
  float* resid_post = nullptr;  ///< [n_layer+1, n_embd]; 0: after the embedding, l+1: after layer l
  float* resid_mid = nullptr;   ///< [n_layer, n_embd]; after attention, before the MLP
  float* attn_out = nullptr;    ///< [n_layer, n_head, head_dim]; before o_proj, heads that are off zeroed
  base::AlignedBuffer memory;

  static Result<Trace> create(const ModelConfig& config) {
    Trace trace;
    const std::uint64_t n_post = (std::uint64_t{config.n_layer} + 1) * config.n_embd;
    const std::uint64_t n_mid = std::uint64_t{config.n_layer} * config.n_embd;
    const std::uint64_t n_heads = std::uint64_t{config.n_layer} * config.n_q();
    auto memory = base::AlignedBuffer::create((n_post + n_mid + n_heads) * sizeof(float), "a trace");
    if (!memory) return memory.error();
    trace.memory = std::move(*memory);
    trace.resid_post = reinterpret_cast<float*>(trace.memory.data());
    trace.resid_mid = trace.resid_post + n_post;
    trace.attn_out = trace.resid_mid + n_mid;
    return trace;
  }
};

}  // namespace lookback::model
