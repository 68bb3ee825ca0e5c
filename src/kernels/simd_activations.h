// Activations rounded to integers per unit of 32, in the order in which integer dots take them (pairs: simd_panels.h).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/matmul.h"
#include "kernels/packed_matrix.h"
#include "kernels/simd.h"

namespace lookback::kernels {

/// Value of one step of the second plane, in steps of the first.
inline constexpr float kSecondPlane = 0x1p-15F;

/// 32 activations of one token: x = scale · (planes[0] + planes[1] · kSecondPlane), columns in pairs.
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
    largest = wasm_f32x4_max(largest, wasm_f32x4_abs(unit.x[i]));
    sum = wasm_f32x4_add(sum, unit.x[i]);
  }
  unit.largest = max_lanes(largest);
  unit.sum = sum_lanes(sum);
  return unit;
}

/// Four f32 that are whole numbers → i32, columns (0, 2, 1, 3).
inline v128_t to_pairs(v128_t whole) {
  const v128_t integers = wasm_i32x4_trunc_sat_f32x4(whole);
  return wasm_i32x4_shuffle(integers, integers, 0, 2, 1, 3);
}

// Below this the scale's inverse would overflow; the activations count as zeros.
inline constexpr float kSmallestLargest = 0x1p-100F;

/// x [n_cols] → out [units].
template <std::uint32_t P>
inline void prepare_row(const float* x, std::uint32_t n_cols, RowUnit<P>* out) {
  for (std::uint32_t col = 0; col < n_cols; col += kUnitCols, ++out) {
    const UnitValues unit = load_unit(x + col, std::min(kUnitCols, n_cols - col));
    float inverse = 0;
    out->scale = 0;
    if (unit.largest >= kSmallestLargest) {
      if constexpr (P == 1) {
        out->scale = unit.largest / 32767;
        inverse = 32767 / unit.largest;
      } else {
        // A power of two, so that the first plane's remainder is exact: largest / scale is in [2^14, 2^15).
        const std::uint32_t exponent = std::bit_cast<std::uint32_t>(unit.largest) & 0x7f800000U;
        out->scale = std::bit_cast<float>(exponent - (14U << 23));
        inverse = std::bit_cast<float>((254U << 23) - (exponent - (14U << 23)));
      }
    }
    // Integers cannot hold NaN or infinity; the scale carries them on.
    if (!(unit.largest < std::numeric_limits<float>::infinity())) out->scale = std::numeric_limits<float>::quiet_NaN();
    out->sum = unit.sum;
    const v128_t factor = wasm_f32x4_splat(inverse);
    for (std::uint32_t i = 0; i < 8; i += 2) {
      v128_t scaled[2] = {wasm_f32x4_mul(unit.x[i], factor), wasm_f32x4_mul(unit.x[i + 1], factor)};
      v128_t first[2];
      for (std::uint32_t j = 0; j < 2; ++j) {
        first[j] = wasm_f32x4_min(wasm_f32x4_nearest(scaled[j]), wasm_f32x4_splat(32767));
      }
      wasm_v128_store(&out->planes[0][4 * i], wasm_i16x8_narrow_i32x4(to_pairs(first[0]), to_pairs(first[1])));
      if constexpr (P == 2) {
        for (std::uint32_t j = 0; j < 2; ++j) {
          const v128_t rest = wasm_f32x4_mul(wasm_f32x4_sub(scaled[j], first[j]), wasm_f32x4_splat(1 / kSecondPlane));
          scaled[j] = wasm_f32x4_nearest(rest);
        }
        wasm_v128_store(&out->planes[1][4 * i], wasm_i16x8_narrow_i32x4(to_pairs(scaled[0]), to_pairs(scaled[1])));
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
