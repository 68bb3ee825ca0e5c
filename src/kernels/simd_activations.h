// Activations rounded to integers per unit of 32, in the order in which integer dots take them (pairs: simd_panels.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/matmul.h"
#include "kernels/packed_matrix.h"
#include "kernels/simd.h"

namespace lookback::kernels {

/// Value of one step of the second plane, in steps of the first.
inline constexpr float kSecondPlane = 0x1p-15F;

/// 32 activations of one token in planes of 16 bits: x = scale · (planes[0] + planes[1] · kSecondPlane), columns in pairs.
template <std::uint32_t P>
struct RowUnit {
  alignas(16) std::int16_t planes[P][kUnitCols];
  float scale;
  float sum;  ///< Σ x
};
static_assert(sizeof(RowUnit<2>) <= kActivationUnitBytes);

/// 32 activations of four tokens in one plane. Tokens behind the last are zeros.
struct TileUnit {
  alignas(16) std::int16_t pairs[16][4][2];
  float scale[4];
  float sum[4];
};
static_assert(sizeof(TileUnit) <= 4 * kActivationUnitBytes);

/// One unit in registers: x = scale · plane.
struct UnitValues {
  v128_t x[8];
  float largest;
  float sum;
};

inline UnitValues load_unit(const float* x, std::uint32_t n) {
  UnitValues unit;
  alignas(16) float padded[kUnitCols];
  if (n < kUnitCols) {
    std::fill(std::copy(x, x + n, padded), padded + kUnitCols, 0.0F);
    x = padded;
  }
  v128_t largest = wasm_f32x4_splat(0);
  v128_t sum = wasm_f32x4_splat(0);
  for (std::uint32_t i = 0; i < 8; ++i) {
    unit.x[i] = load(x + 4 * i);
    largest = larger(largest, wasm_f32x4_abs(unit.x[i]));
    sum = wasm_f32x4_add(sum, unit.x[i]);
  }
  unit.largest = max_lanes(largest);
  unit.sum = sum_lanes(sum);
  return unit;
}

// Below this the scale's inverse would overflow; the activations count as zeros.
inline constexpr float kSmallestLargest = 0x1p-100F;

/// Scale of a unit whose largest magnitude becomes `steps`, and its inverse.
struct UnitScale {
  float scale = 0;
  float inverse = 0;
};
inline UnitScale unit_scale(const UnitValues& unit, float steps) {
  // Integers cannot hold NaN or infinity, which show in the sum; the scale carries them on.
  if (!(std::abs(unit.sum) < std::numeric_limits<float>::infinity()))
    return {std::numeric_limits<float>::quiet_NaN(), 0};
  if (unit.largest < kSmallestLargest) return {};
  return {unit.largest / steps, steps / unit.largest};
}

/// Eight numbers plus kRoundingBias → their whole numbers as i16, columns (0 2 1 3 4 6 5 7).
inline v128_t to_pairs(v128_t low, v128_t high) {
  const v128_t bias = wasm_i32x4_splat(kRoundingBits);
  const v128_t narrow = wasm_i16x8_narrow_i32x4(wasm_i32x4_sub(low, bias), wasm_i32x4_sub(high, bias));
  return wasm_i16x8_shuffle(narrow, narrow, 0, 2, 1, 3, 4, 6, 5, 7);
}

/// x [n_cols] → out [units], 16 bits a plane.
template <std::uint32_t P>
[[gnu::noinline]] void prepare_row(const float* x, std::uint32_t n_cols, RowUnit<P>* out) {
  const v128_t bias = wasm_f32x4_splat(kRoundingBias);
  for (std::uint32_t col = 0; col < n_cols; col += kUnitCols, ++out) {
    const UnitValues unit = load_unit(x + col, std::min(kUnitCols, n_cols - col));
    const UnitScale scale = unit_scale(unit, 32767);
    out->scale = scale.scale;
    out->sum = unit.sum;
    const v128_t factor = wasm_f32x4_splat(scale.inverse);
    for (std::uint32_t i = 0; i < 8; i += 2) {
      const v128_t low = wasm_f32x4_mul(unit.x[i], factor);
      const v128_t high = wasm_f32x4_mul(unit.x[i + 1], factor);
      const v128_t low_first = wasm_f32x4_add(low, bias);
      const v128_t high_first = wasm_f32x4_add(high, bias);
      wasm_v128_store(&out->planes[0][4 * i], to_pairs(low_first, high_first));
      if constexpr (P == 2) {
        const v128_t steps = wasm_f32x4_splat(1 / kSecondPlane);
        const v128_t low_rest = wasm_f32x4_mul(wasm_f32x4_sub(low, wasm_f32x4_sub(low_first, bias)), steps);
        const v128_t high_rest = wasm_f32x4_mul(wasm_f32x4_sub(high, wasm_f32x4_sub(high_first, bias)), steps);
        wasm_v128_store(&out->planes[1][4 * i],
                        to_pairs(wasm_f32x4_add(low_rest, bias), wasm_f32x4_add(high_rest, bias)));
      }
    }
  }
}

/// The same in planes of signed bytes, two for each of 16 bits: x = scale · Σ_p (256 · planes[p][0] + planes[p][1]) ·
/// kSecondPlane^p, columns in order.
template <std::uint32_t P>
struct ByteUnit {
  alignas(16) std::int8_t planes[P][2][kUnitCols];
  float scale;
  float sum;  ///< Σ x
};
static_assert(sizeof(ByteUnit<2>) <= kActivationUnitBytes);

/// Sixteen i32 within a byte's range → bytes.
inline v128_t to_bytes(const v128_t (&x)[4]) {
  return wasm_i8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(x[0], x[1]), wasm_i16x8_narrow_i32x4(x[2], x[3]));
}

/// x [n_cols] → out [units].
template <std::uint32_t P>
[[gnu::noinline]] void prepare_bytes(const float* x, std::uint32_t n_cols, ByteUnit<P>* out) {
  const v128_t bias = wasm_f32x4_splat(kRoundingBias);
  const v128_t bias_bits = wasm_i32x4_splat(kRoundingBits);
  for (std::uint32_t col = 0; col < n_cols; col += kUnitCols, ++out) {
    const UnitValues unit = load_unit(x + col, std::min(kUnitCols, n_cols - col));
    // 127 · 256 + 127: the largest number of two signed bytes.
    const UnitScale scale = unit_scale(unit, 32639);
    out->scale = scale.scale;
    out->sum = unit.sum;
    const v128_t factor = wasm_f32x4_splat(scale.inverse);
    for (std::uint32_t half = 0; half < 2; ++half) {
      v128_t bytes[P][2][4];
      for (std::uint32_t i = 0; i < 4; ++i) {
        v128_t value = wasm_f32x4_mul(unit.x[4 * half + i], factor);
        for (std::uint32_t p = 0; p < P; ++p) {
          const v128_t biased = wasm_f32x4_add(value, bias);
          const v128_t whole = wasm_i32x4_sub(biased, bias_bits);
          bytes[p][0][i] = wasm_i32x4_shr(wasm_i32x4_add(whole, wasm_i32x4_splat(128)), 8);
          bytes[p][1][i] = wasm_i32x4_sub(whole, wasm_i32x4_shl(bytes[p][0][i], 8));
          const v128_t rest = wasm_f32x4_sub(value, wasm_f32x4_sub(biased, bias));
          value = wasm_f32x4_mul(rest, wasm_f32x4_splat(1 / kSecondPlane));
        }
      }
      for (std::uint32_t p = 0; p < P; ++p) {
        for (std::uint32_t b = 0; b < 2; ++b) wasm_v128_store(&out->planes[p][b][16 * half], to_bytes(bytes[p][b]));
      }
    }
  }
}

/// x [n_tokens ≤ 4, n_cols] → out [units].
inline void prepare_tile(const float* x, std::size_t x_stride, std::uint32_t n_tokens, std::uint32_t n_cols,
                         TileUnit* out) {
  for (std::uint32_t col = 0; col < n_cols; col += kUnitCols, ++out) {
    RowUnit<1> rows[4] = {};
    for (std::uint32_t t = 0; t < n_tokens; ++t) {
      prepare_row<1>(x + t * x_stride + col, std::min(kUnitCols, n_cols - col), &rows[t]);
      out->scale[t] = rows[t].scale;
      out->sum[t] = rows[t].sum;
    }
    for (std::uint32_t t = n_tokens; t < 4; ++t) out->scale[t] = out->sum[t] = 0;
    for (std::uint32_t pair = 0; pair < 16; pair += 4) {
      // Pairs are 32-bit words: four tokens by four pairs are transposed.
      const v128_t r0 = load(&rows[0].planes[0][2 * pair]);
      const v128_t r1 = load(&rows[1].planes[0][2 * pair]);
      const v128_t r2 = load(&rows[2].planes[0][2 * pair]);
      const v128_t r3 = load(&rows[3].planes[0][2 * pair]);
      const v128_t low01 = wasm_i32x4_shuffle(r0, r1, 0, 4, 1, 5);
      const v128_t high01 = wasm_i32x4_shuffle(r0, r1, 2, 6, 3, 7);
      const v128_t low23 = wasm_i32x4_shuffle(r2, r3, 0, 4, 1, 5);
      const v128_t high23 = wasm_i32x4_shuffle(r2, r3, 2, 6, 3, 7);
      wasm_v128_store(&out->pairs[pair][0][0], wasm_i64x2_shuffle(low01, low23, 0, 2));
      wasm_v128_store(&out->pairs[pair + 1][0][0], wasm_i64x2_shuffle(low01, low23, 1, 3));
      wasm_v128_store(&out->pairs[pair + 2][0][0], wasm_i64x2_shuffle(high01, high23, 0, 2));
      wasm_v128_store(&out->pairs[pair + 3][0][0], wasm_i64x2_shuffle(high01, high23, 1, 3));
    }
  }
}

}  // namespace lookback::kernels
