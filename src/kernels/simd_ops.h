// The small ops in SIMD, for simd128.cc and relaxed_simd.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/ops.h"
#include "kernels/simd.h"

namespace lookback::kernels {

template <class Isa>
struct SimdOps {
  /// Σ a[i] · b[i] in 16 partial sums.
  static float dot(const float* a, const float* b, std::size_t n) {
    v128_t sum[4] = {wasm_f32x4_splat(0), wasm_f32x4_splat(0), wasm_f32x4_splat(0), wasm_f32x4_splat(0)};
    std::size_t i = 0;
    LOOKBACK_ROLLED
    for (; i + 16 <= n; i += 16) {
      for (std::size_t j = 0; j < 4; ++j) sum[j] = Isa::madd(load(a + i + 4 * j), load(b + i + 4 * j), sum[j]);
    }
    LOOKBACK_ROLLED
    for (; i + 4 <= n; i += 4) sum[0] = Isa::madd(load(a + i), load(b + i), sum[0]);
    float total = sum_lanes(wasm_f32x4_add(wasm_f32x4_add(sum[0], sum[1]), wasm_f32x4_add(sum[2], sum[3])));
    for (; i < n; ++i) total += a[i] * b[i];
    return total;
  }

  static void axpy(float a, const float* x, float* y, std::size_t n) {
    const v128_t factor = wasm_f32x4_splat(a);
    std::size_t i = 0;
    LOOKBACK_ROLLED
    for (; i + 4 <= n; i += 4) wasm_v128_store(y + i, Isa::madd(factor, load(x + i), load(y + i)));
    for (; i < n; ++i) y[i] += a * x[i];
  }

  static void rms_norm(const float* x, const float* w, float eps, float* y, std::size_t n) {
    const double mean = sum_of_squares(x, n) / static_cast<double>(n);
    const auto scale = static_cast<float>(1 / std::sqrt(mean + static_cast<double>(eps)));
    const v128_t factor = wasm_f32x4_splat(scale);
    std::size_t i = 0;
    LOOKBACK_ROLLED
    for (; i + 4 <= n; i += 4) {
      wasm_v128_store(y + i, wasm_f32x4_mul(load(w + i), wasm_f32x4_mul(load(x + i), factor)));
    }
    for (; i < n; ++i) y[i] = w[i] * (x[i] * scale);
  }

  static void rope(float* x, const float* table, std::uint32_t n_head, std::uint32_t head_dim, RopePairing pairing) {
    if (pairing == RopePairing::kNeighbours) {
      rope_neighbours(x, table, n_head, head_dim);
    } else {
      rope_halves(x, table, n_head, head_dim);
    }
  }

  static void silu_mul(const float* gate, const float* up, float* y, std::size_t n) {
    std::size_t i = 0;
    LOOKBACK_ROLLED
    for (; i + 4 <= n; i += 4) wasm_v128_store(y + i, silu_mul4(load(gate + i), load(up + i)));
    if (i == n) return;
    float g[4] = {};
    float u[4] = {};
    std::copy(gate + i, gate + n, g);
    std::copy(up + i, up + n, u);
    wasm_v128_store(g, silu_mul4(load(g), load(u)));
    std::copy(g, g + (n - i), y + i);
  }

  static void softmax(const float* x, float* y, std::size_t n) {
    const float top = *std::max_element(x, x + n);
    const v128_t shift = wasm_f32x4_splat(top);
    v128_t sum_low = wasm_f64x2_splat(0);
    v128_t sum_high = wasm_f64x2_splat(0);
    std::size_t i = 0;
    LOOKBACK_ROLLED
    for (; i + 4 <= n; i += 4) {
      const v128_t e = exp_f32x4<Isa>(wasm_f32x4_sub(load(x + i), shift));
      sum_low = wasm_f64x2_add(sum_low, wasm_f64x2_promote_low_f32x4(e));
      sum_high = wasm_f64x2_add(sum_high, wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(e, e, 2, 3, 0, 1)));
      wasm_v128_store(y + i, e);
    }
    sum_low = wasm_f64x2_add(sum_low, sum_high);
    double sum = wasm_f64x2_extract_lane(sum_low, 0) + wasm_f64x2_extract_lane(sum_low, 1);
    for (; i < n; ++i) {
      y[i] = wasm_f32x4_extract_lane(exp_f32x4<Isa>(wasm_f32x4_splat(x[i] - top)), 0);
      sum += static_cast<double>(y[i]);
    }
    const auto factor = static_cast<float>(1 / sum);
    for (std::size_t j = 0; j < n; ++j) y[j] *= factor;
  }

 private:
  /// Σ x[i]² in double: squares of finite numbers stay finite, and the norm adds no rounding of its own.
  static double sum_of_squares(const float* x, std::size_t n) {
    v128_t sum[2] = {wasm_f64x2_splat(0), wasm_f64x2_splat(0)};
    std::size_t i = 0;
    LOOKBACK_ROLLED
    for (; i + 4 <= n; i += 4) {
      const v128_t four = load(x + i);
      const v128_t low = wasm_f64x2_promote_low_f32x4(four);
      const v128_t high = wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(four, four, 2, 3, 0, 1));
      sum[0] = wasm_f64x2_add(sum[0], wasm_f64x2_mul(low, low));
      sum[1] = wasm_f64x2_add(sum[1], wasm_f64x2_mul(high, high));
    }
    const v128_t both = wasm_f64x2_add(sum[0], sum[1]);
    double total = wasm_f64x2_extract_lane(both, 0) + wasm_f64x2_extract_lane(both, 1);
    for (; i < n; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return total;
  }

  static v128_t silu_mul4(v128_t gate, v128_t up) {
    // exp(88) is finite, so a very negative gate gives −0, not NaN.
    const v128_t e = exp_f32x4<Isa>(wasm_f32x4_pmin(wasm_f32x4_neg(gate), wasm_f32x4_splat(88.0F)));
    return wasm_f32x4_mul(wasm_f32x4_div(gate, wasm_f32x4_add(e, wasm_f32x4_splat(1.0F))), up);
  }

  // Pairs (2i, 2i+1): [a0 b0 a1 b1] · [c0 c0 c1 c1] + [b0 a0 b1 a1] · [−s0 s0 −s1 s1].
  static void rope_neighbours(float* x, const float* table, std::uint32_t n_head, std::uint32_t head_dim) {
    const v128_t signs = wasm_f32x4_make(-1, 1, -1, 1);
    std::uint32_t i = 0;
    for (; i + 4 <= head_dim; i += 4) {
      const v128_t cos_sin = load(table + i);
      const v128_t cos = wasm_i32x4_shuffle(cos_sin, cos_sin, 0, 0, 2, 2);
      const v128_t sin = wasm_f32x4_mul(wasm_i32x4_shuffle(cos_sin, cos_sin, 1, 1, 3, 3), signs);
      for (std::uint32_t h = 0; h < n_head; ++h) {
        float* pairs = x + std::size_t{h} * head_dim + i;
        const v128_t ab = load(pairs);
        const v128_t ba = wasm_i32x4_shuffle(ab, ab, 1, 0, 3, 2);
        wasm_v128_store(pairs, Isa::madd(ba, sin, wasm_f32x4_mul(ab, cos)));
      }
    }
    for (; i < head_dim; i += 2) {
      for (std::uint32_t h = 0; h < n_head; ++h) {
        float* pair = x + std::size_t{h} * head_dim + i;
        rotate(pair[0], pair[1], table[i], table[i + 1]);
      }
    }
  }

  // Pairs (i, i + half): four of each half at a time.
  static void rope_halves(float* x, const float* table, std::uint32_t n_head, std::uint32_t head_dim) {
    const std::uint32_t half = head_dim / 2;
    std::uint32_t i = 0;
    for (; i + 4 <= half; i += 4) {
      const v128_t first = load(table + 2 * i);
      const v128_t second = load(table + 2 * i + 4);
      const v128_t cos = wasm_i32x4_shuffle(first, second, 0, 2, 4, 6);
      const v128_t sin = wasm_i32x4_shuffle(first, second, 1, 3, 5, 7);
      for (std::uint32_t h = 0; h < n_head; ++h) {
        float* head = x + std::size_t{h} * head_dim + i;
        const v128_t a = load(head);
        const v128_t b = load(head + half);
        wasm_v128_store(head, wasm_f32x4_sub(wasm_f32x4_mul(a, cos), wasm_f32x4_mul(b, sin)));
        wasm_v128_store(head + half, Isa::madd(b, cos, wasm_f32x4_mul(a, sin)));
      }
    }
    for (; i < half; ++i) {
      for (std::uint32_t h = 0; h < n_head; ++h) {
        float* head = x + std::size_t{h} * head_dim + i;
        rotate(head[0], head[half], table[2 * i], table[2 * i + 1]);
      }
    }
  }

  static void rotate(float& a, float& b, float cos, float sin) {
    const float rotated = a * cos - b * sin;
    b = b * cos + a * sin;
    a = rotated;
  }
};

}  // namespace lookback::kernels
