// Activations: the scratch of one layer over one block of rows, allocated once. No logic.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/aligned_buffer.h"
#include "kernels/matmul.h"
#include "lookback/types.h"

namespace lookback::model {

/// Rows of a block at most: what one call of a kernel takes.
inline constexpr std::uint32_t kMaxRows = kernels::kMaxTokens;

struct Activations {
  float* normed = nullptr;    ///< [kMaxRows, n_embd]
  float* q = nullptr;         ///< [kMaxRows, n_head, head_dim]
  float* k = nullptr;         ///< [kMaxRows, n_kv_head, head_dim]
  float* v = nullptr;         ///< [kMaxRows, n_kv_head, head_dim]
  float* attn_out = nullptr;  ///< [kMaxRows, n_head, head_dim] before o_proj
  float* gate = nullptr;      ///< [kMaxRows, n_ff]
  float* up = nullptr;        ///< [kMaxRows, n_ff]
  base::AlignedBuffer memory;

  static Result<Activations> create(const ModelConfig& config) {
    Activations act;
    struct Part {
      float** pointer;
      std::uint32_t width;
    };
    const Part parts[] = {{&act.normed, config.n_embd}, {&act.q, config.n_q()},        {&act.k, config.n_kv()},
                          {&act.v, config.n_kv()},      {&act.attn_out, config.n_q()}, {&act.gate, config.n_ff},
                          {&act.up, config.n_ff}};
    std::uint64_t n_floats = 0;
    for (const auto& part : parts) n_floats += padded(part.width);
    auto memory = base::AlignedBuffer::create(n_floats * sizeof(float), "activations");
    if (!memory) return memory.error();
    act.memory = std::move(*memory);
    auto* next = reinterpret_cast<float*>(act.memory.data());
    for (const auto& part : parts) {
      *part.pointer = next;
      next += padded(part.width);
    }
    return act;
  }

 private:
  /// Floats of kMaxRows rows, a multiple of a cache line so that every part starts on one.
  static std::uint64_t padded(std::uint32_t width) { return (std::uint64_t{width} * kMaxRows + 15) / 16 * 16; }
};

}  // namespace lookback::model
