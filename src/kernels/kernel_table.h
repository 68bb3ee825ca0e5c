// KernelTable: one variant of every op. The public functions (matmul.h, attention.h, ops.h) check their arguments and call
// the table of this build; tests call all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/attention.h"
#include "kernels/matmul.h"
#include "kernels/ops.h"

namespace lookback::kernels {

struct KernelTable {
  std::string_view name;
  void (*matmul)(const MatmulInput& input, std::span<const Product> products, Precision precision, Workspace& workspace,
                 base::ThreadPool& pool);
  void (*attention)(const AttentionArgs& args, Workspace& workspace, base::ThreadPool& pool);
  /// Scores of n_keys keys: qk[j] = q · k[j].
  void (*attention_scores)(const AttentionRowArgs& args, float* qk);
  // One row each; shapes as in ops.h.
  void (*rms_norm)(const float* x, const float* w, float eps, float* y, std::size_t n);
  void (*rope)(float* x, const float* table, std::uint32_t n_head, std::uint32_t head_dim, RopePairing pairing);
  void (*silu_mul)(const float* gate, const float* up, float* y, std::size_t n);
  void (*softmax)(const float* x, float* y, std::size_t n);
  float (*dot)(const float* a, const float* b, std::size_t n);
  void (*axpy)(float a, const float* x, float* y, std::size_t n);
};

}  // namespace lookback::kernels
