#include "kernels/matmul.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kernels/attention.h"
#include "kernels/variants.h"

namespace lookback::kernels {

Result<Workspace> Workspace::create(const Limits& limits, int n_threads) {
  CHECK(n_threads >= 1 && limits.n_kv_head > 0 && limits.n_head % limits.n_kv_head == 0, "the shape of a model");
  CHECK(limits.head_dim % 8 == 0 && limits.head_dim <= kMaxHeadDim, "a head that attention can take");
  Workspace workspace;
  workspace.limits_ = limits;
  workspace.n_threads_ = n_threads;
  const std::uint64_t n_units = (limits.max_cols + kUnitCols - 1) / kUnitCols;
  const std::uint64_t n_pages = (limits.max_positions + kPagePositions - 1) / kPagePositions;
  const std::uint64_t head_page_bytes = std::uint64_t{kPagePositions} * limits.head_dim * sizeof(float);
  struct {
    base::AlignedBuffer* buffer;
    std::uint64_t n_bytes;
  } const wanted[] = {
      {&workspace.activations_, 2 * kMaxTokens * n_units * kActivationUnitBytes},
      {&workspace.threads_, static_cast<std::uint64_t>(n_threads) * kThreadScratchBytes},
      {&workspace.keys_, n_pages * limits.n_kv_head * head_page_bytes},
      // A head's partial sums of one page: its outputs, largest score and sum of exponentials.
      {&workspace.partials_, n_pages * limits.n_head * kMaxPartialQueries * (limits.head_dim + 2) * sizeof(float)},
  };
  for (const auto& [buffer, n_bytes] : wanted) {
    Result<base::AlignedBuffer> created = base::AlignedBuffer::create(n_bytes, "kernel scratch");
    if (!created) return created.error();
    *buffer = std::move(*created);
  }
  return workspace;
}

std::byte* Workspace::thread_scratch(int thread) {
  CHECK(thread < n_threads_, "scratch for every thread of the pool");
  return threads_.data() + static_cast<std::size_t>(thread) * kThreadScratchBytes;
}

void matmul(const MatmulInput& input, std::span<const Product> products, Precision precision, Workspace& workspace,
            base::ThreadPool& pool) {
  CHECK(input.n_tokens > 0 && input.n_tokens <= kMaxTokens && !products.empty(), "a block of tokens");
  const std::uint32_t cols = products[0].weights->cols();
  CHECK(cols <= workspace.limits().max_cols, "activations within the workspace");
  for (const Product& product : products) {
    CHECK(product.weights->complete() && product.weights->cols() == cols, "matrices that take the same activations");
  }
  kRunning->matmul(input, products, precision, workspace, pool);
}

}  // namespace lookback::kernels
