// Products of activations with packed weights: the matmuls of a pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/parallel.h"
#include "kernels/packed_matrix.h"
#include "lookback/result.h"

namespace lookback::kernels {

/// kExact: f32 activations against exactly dequantised weights, error at the level of f32 rounding.
/// kFast: activations rounded to 16 bits per block of 32 where the weights are quantised; sums of a block are exact
/// integers.
enum class Precision { kExact, kFast };

/// Tokens that one call of matmul or attention takes at most; longer prompts go in blocks.
inline constexpr std::uint32_t kMaxTokens = 128;

/// The widest head that attention takes.
inline constexpr std::uint32_t kMaxHeadDim = 256;

// Sizes that the kernels' scratch depends on.
inline constexpr std::uint32_t kActivationUnitBytes = 160;  ///< 32 activations in the largest prepared form
inline constexpr std::uint32_t kThreadScratchBytes = 48 * 1024;
inline constexpr std::uint32_t kMaxPartialQueries = 2;  ///< blocks up to this long split attention by pages

/// Scratch of matmul and attention, allocated once for one shape of model and one pool.
class Workspace {
 public:
  struct Limits {
    std::uint32_t max_cols = 0;  ///< the widest activation row
    std::uint32_t n_head = 0;
    std::uint32_t n_kv_head = 0;
    std::uint32_t head_dim = 0;
    std::uint32_t max_positions = 0;  ///< the longest context that attention will see
  };

  Workspace() = default;
  /// Errors: out_of_memory.
  static Result<Workspace> create(const Limits& limits, int n_threads);

  const Limits& limits() const { return limits_; }

  // For the kernels.
  /// Two forms of one block of activations, each kMaxTokens · units · kActivationUnitBytes.
  std::byte* activations(int form) {
    return activations_.data() + static_cast<std::size_t>(form) * (activations_.size_bytes() / 2);
  }
  std::byte* thread_scratch(int thread);                         ///< kThreadScratchBytes of its own for each thread
  float* transposed_keys() { return keys_.as<float>().data(); }  ///< [page, n_kv_head, head_dim · kPagePositions]
  float* partials() { return partials_.as<float>().data(); }     ///< [page, kMaxPartialQueries, n_head, head_dim + 2]

 private:
  Limits limits_;
  base::AlignedBuffer activations_;
  base::AlignedBuffer threads_;
  base::AlignedBuffer keys_;
  base::AlignedBuffer partials_;
  int n_threads_ = 0;
};

/// What to do with y.
enum class Write { kSet, kAdd };

/// One weight matrix of a matmul and where its outputs go.
struct Product {
  const PackedMatrix* weights = nullptr;  ///< [rows, cols]
  float* y = nullptr;                     ///< [n_tokens, rows], rows of y y_stride floats apart
  std::size_t y_stride = 0;
  Write write = Write::kSet;
};

/// Activations that several matrices share (q, k and v_proj; gate and up_proj).
struct MatmulInput {
  const float* x = nullptr;  ///< [n_tokens, cols], rows x_stride floats apart
  std::size_t x_stride = 0;
  std::uint32_t n_tokens = 0;
};

/// matmul: y[t, r] = Σ_c w[r, c] · x[t, c] for each product, or y += for Write::kAdd
/// Shape:  x [n_tokens, cols], w [rows, cols], y [n_tokens, rows]; 1 ≤ n_tokens ≤ kMaxTokens     Alias: y must not
/// overlap x Errors: none; shapes and the workspace's limits are CHECKed Cost:   2 · n_tokens · rows · cols operations;
/// weights are read once a call The result does not depend on the number of threads, nor on which products share a
/// call.
void matmul(const MatmulInput& input, std::span<const Product> products, Precision precision, Workspace& workspace,
            base::ThreadPool& pool);

}  // namespace lookback::kernels
