// The small ops of a pass, on rows of f32. Each runs the variant that this build chose (variants.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/parallel.h"

namespace lookback::kernels {

/// The variant that runs: "simd128" or "relaxed". It is fixed when the library is built.
std::string_view variant_name();

/// Rows of floats: [n_rows, n], stride floats apart.
struct Rows {
  float* data = nullptr;
  std::size_t stride = 0;
};
struct ConstRows {
  const float* data = nullptr;
  std::size_t stride = 0;
};

/// rms_norm: y[i] = w[i] · x[i] / sqrt(mean(x²) + eps), row by row
/// Shape:  x, y [n_rows, n], w [n]      Alias: y may be x
/// Errors: none; n > 0 is CHECKed       Cost:  2 reads + 1 write of a row
/// Source: Zhang & Sennrich 2019 (RMSNorm); HF LlamaRMSNorm; eps comes from the file
void rms_norm(ConstRows x, std::span<const float> w, float eps, Rows y, std::uint32_t n_rows, base::ThreadPool& pool);

/// Which two numbers of a head form one rotated pair. It follows the file: GGUF's llama rows are permuted to neighbours
/// (2i, 2i+1); checkpoints pair halves (i, i + head_dim/2).
enum class RopePairing { kNeighbours, kHalves };

/// rope_table: angles of positions first_pos …: table[p, i] = (cos, sin)(pos · base^(−2i/head_dim)), computed in f64
/// Shape:  table [n_pos, head_dim/2, 2] f32      Cost: one pow, sin and cos a pair
void rope_table(double base, std::uint32_t head_dim, std::uint32_t first_pos, std::uint32_t n_pos,
                std::span<float> table);

/// rope: rotates each pair of each head by its position's angle, in place
/// Shape:  x [n_rows, n_head, head_dim], table [n_rows, head_dim/2, 2]; head_dim even
/// Source: Su et al. 2021 (RoFormer)
void rope(Rows x, std::uint32_t n_rows, std::uint32_t n_head, std::uint32_t head_dim, std::span<const float> table,
          RopePairing pairing, base::ThreadPool& pool);

/// silu_mul: y[i] = gate[i] / (1 + exp(−gate[i])) · up[i], row by row
/// Shape:  gate, up, y [n_rows, n]      Alias: y may be gate or up
/// Source: Shazeer 2020 (SwiGLU)
void silu_mul(ConstRows gate, ConstRows up, Rows y, std::uint32_t n_rows, std::uint32_t n, base::ThreadPool& pool);

/// softmax: y[i] = exp(x[i] − max x) / Σ exp(x[j] − max x); −inf gives 0
/// Shape:  x, y [n]      Alias: y may be x      Errors: none; some x must be above −inf     Sums in f64
void softmax(std::span<const float> x, std::span<float> y);

/// dot: Σ a[i] · b[i], several accumulators      Shape: a, b [n]
float dot(std::span<const float> a, std::span<const float> b);

/// axpy: y[i] += a · x[i]      Shape: x, y [n]     Alias: y may be x
void axpy(float a, std::span<const float> x, std::span<float> y);

/// add: y[i] += x[i], row by row      Shape: x, y [n_rows, n]
void add(ConstRows x, Rows y, std::uint32_t n_rows, std::uint32_t n, base::ThreadPool& pool);

/// True when every number is finite.      Shape: x [n]     Cost: one read
bool all_finite(std::span<const float> x);

}  // namespace lookback::kernels
