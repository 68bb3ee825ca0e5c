// The 128-bit SIMD of WebAssembly: the only file that includes it. Natively the same names come from SIMDe, so that
// sanitizers reach the kernels.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#if defined(__EMSCRIPTEN__)
#include <wasm_simd128.h>
#else
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/wasm/simd128.h>
#endif

// A loop that has to stay rolled, one step an iteration. Unrolled, LLVM and Binaryen regroup the steps by accumulator, so that
// every loaded vector stays live and V8, which has 15 registers to give, spills them: half the speed.
#define LOOKBACK_ROLLED _Pragma("clang loop unroll(disable) vectorize(disable)")

namespace lookback::kernels {

/// Vectors that kernels need inside a loop, in memory and not const on purpose: V8 rebuilds a v128.const on every iteration
/// (three instructions), and a mask that LLVM knows makes it prove values non-negative and convert them unsigned (eight).
struct alignas(16) SimdConstants {
  std::array<std::uint16_t, 8> low_nibble_i16;
  std::array<std::uint32_t, 4> low_nibble_i32;
  std::array<std::uint8_t, 16> low_nibble_i8;
  std::array<std::uint32_t, 4> half_bits;    ///< an f16's sign, exponent and fraction after a shift right by 3
  std::array<std::array<float, 4>, 12> exp;  ///< of exp_f32x4, in its order
};
extern SimdConstants simd_constants;

template <typename T>
inline v128_t load(const T* p) {
  return wasm_v128_load(p);
}

/// The nearest whole number of |x| < 2^22, ties to even, in the low bits of x + kRoundingBias.
inline constexpr float kRoundingBias = 0x1.8p23F;
inline constexpr std::int32_t kRoundingBits = std::bit_cast<std::int32_t>(kRoundingBias);

/// Four f16 in the low (high) half of h → f32, exactly; infinity and NaN are not expected.
inline v128_t f16_to_f32_bits(v128_t in_high_halves, v128_t mask) {
  // Sign, exponent and fraction go to their places in an f32; 2^112 makes up for the exponents' biases, denormals included.
  const v128_t bits = wasm_v128_and(wasm_i32x4_shr(in_high_halves, 3), mask);
  return wasm_f32x4_mul(bits, wasm_f32x4_splat(0x1p112F));
}
inline v128_t f16_to_f32_low(v128_t h, v128_t mask) {
  return f16_to_f32_bits(wasm_i16x8_shuffle(wasm_i16x8_splat(0), h, 0, 8, 1, 9, 2, 10, 3, 11), mask);
}
inline v128_t f16_to_f32_high(v128_t h, v128_t mask) {
  return f16_to_f32_bits(wasm_i16x8_shuffle(wasm_i16x8_splat(0), h, 4, 12, 5, 13, 6, 14, 7, 15), mask);
}

inline float sum_lanes(v128_t v) {
  v = wasm_f32x4_add(v, wasm_i32x4_shuffle(v, v, 2, 3, 0, 1));
  return wasm_f32x4_extract_lane(v, 0) + wasm_f32x4_extract_lane(v, 1);
}
/// The larger of two, or `known` when the new one is NaN: one instruction, where f32x4.max, which passes NaN on, takes seven.
inline v128_t larger(v128_t known, v128_t fresh) { return wasm_f32x4_pmax(known, fresh); }

inline float max_lanes(v128_t v) {
  v = larger(v, wasm_i32x4_shuffle(v, v, 2, 3, 0, 1));
  v = larger(v, wasm_i32x4_shuffle(v, v, 1, 0, 3, 2));
  return wasm_f32x4_extract_lane(v, 0);
}

/// Fixed-width SIMD: multiply, then add.
struct Simd128 {
  /// Rows of a register tile of [rows, 8 outputs]: the multiply needs a register that two more rows would take.
  static constexpr std::uint32_t kTileRows = 4;
  static constexpr bool kHasByteDot = false;
  static v128_t madd(v128_t a, v128_t b, v128_t c) { return wasm_f32x4_add(wasm_f32x4_mul(a, b), c); }
};

/// With relaxed SIMD: fused multiply-add, which differs from Simd128 by one rounding, and dots of bytes, which are exact.
struct RelaxedSimd {
  static constexpr std::uint32_t kTileRows = 6;
  static constexpr bool kHasByteDot = true;

  // Dots of signed bytes with codes 0…15, so small that the specification leaves no freedom, added up in one of two ways.

  /// Sums of 16 bits: i16 lane i += x[2i] · codes[2i] + x[2i + 1] · codes[2i + 1]. Two instructions on any x86.
  struct PairSums {
    static v128_t add(v128_t sum, v128_t x, v128_t codes) {
#if defined(__wasm_relaxed_simd__)
      return wasm_i16x8_add(sum, wasm_i16x8_relaxed_dot_i8x16_i7x16(x, codes));
#else
      const v128_t low = wasm_i16x8_extmul_low_i8x16(x, codes);
      const v128_t high = wasm_i16x8_extmul_high_i8x16(x, codes);
      return wasm_i16x8_add(sum, wasm_i16x8_add(wasm_i16x8_shuffle(low, high, 0, 2, 4, 6, 8, 10, 12, 14),
                                                wasm_i16x8_shuffle(low, high, 1, 3, 5, 7, 9, 11, 13, 15)));
#endif
    }
    static v128_t to_i32(v128_t sum) { return wasm_i32x4_extadd_pairwise_i16x8(sum); }
  };

  /// Sums of 32 bits: i32 lane i += Σ_j x[4i + j] · codes[4i + j]. One instruction with VNNI or ARM's dot product, else five.
  struct QuadSums {
    static v128_t add(v128_t sum, v128_t x, v128_t codes) {
#if defined(__wasm_relaxed_simd__)
      return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(x, codes, sum);
#else
      return wasm_i32x4_add(sum, wasm_i32x4_extadd_pairwise_i16x8(PairSums::add(wasm_i16x8_splat(0), x, codes)));
#endif
    }
    static v128_t to_i32(v128_t sum) { return sum; }

    /// Whether that is one instruction here, told by what it makes of codes that it is not made for: x86 without VNNI
    /// multiplies pairs to 16 bits that saturate, 2 · 32767 in all.
    static bool are_one_instruction() {
      volatile std::int8_t x = 127;  // constants are folded, and Binaryen 120 stops at this one
      volatile std::int8_t codes = -1;
      const v128_t sum = add(wasm_i32x4_splat(0), wasm_i8x16_splat(x), wasm_i8x16_splat(codes));
      return wasm_i32x4_extract_lane(sum, 0) != 2 * 32767;
    }
  };

  static v128_t madd(v128_t a, v128_t b, v128_t c) {
#if defined(__wasm_relaxed_simd__)
    return wasm_f32x4_relaxed_madd(a, b, c);
#else
    const auto x = std::bit_cast<std::array<float, 4> >(a);
    const auto y = std::bit_cast<std::array<float, 4> >(b);
    const auto z = std::bit_cast<std::array<float, 4> >(c);
    return wasm_f32x4_make(std::fma(x[0], y[0], z[0]), std::fma(x[1], y[1], z[1]), std::fma(x[2], y[2], z[2]),
                           std::fma(x[3], y[3], z[3]));
#endif
  }
};

/// exp(x) for x ≤ 88, within 2 ulp; below −87.3, and for −inf, 0; NaN for NaN.
/// Source: Cephes expf (Moshier): x = n·ln2 + r, a polynomial in r, then n into the exponent.
template <class Isa>
v128_t exp_f32x4(v128_t x) {
  const auto constant = [](std::size_t i) { return load(simd_constants.exp[i].data()); };
  const v128_t bias = constant(0);
  // n is in the low bits of biased: shifting them to the exponent drops the bias.
  const v128_t biased = Isa::madd(x, constant(1), bias);
  const v128_t n = wasm_f32x4_sub(biased, bias);
  v128_t r = Isa::madd(n, constant(2), x);
  r = Isa::madd(n, constant(3), r);
  v128_t p = Isa::madd(constant(4), r, constant(5));
  p = Isa::madd(p, r, constant(6));
  p = Isa::madd(p, r, constant(7));
  p = Isa::madd(p, r, constant(8));
  p = Isa::madd(p, r, constant(9));
  p = Isa::madd(p, wasm_f32x4_mul(r, r), wasm_f32x4_add(r, constant(10)));
  return wasm_v128_andnot(wasm_i32x4_add(p, wasm_i32x4_shl(biased, 23)), wasm_f32x4_lt(x, constant(11)));
}

/// A register tile: acc[r] += Σ_k a[r, k] · b[k, 0…7].
/// a [R, n_k] rows a_stride floats apart, b [n_k, 8] rows b_stride floats apart.
template <class Isa, std::uint32_t R>
inline void multiply_tile(const float* a, std::size_t a_stride, const float* b, std::size_t b_stride, std::uint32_t n_k,
                          v128_t (&acc)[R][2]) {
  v128_t sum[R][2];
  const float* row[R];
  for (std::uint32_t r = 0; r < R; ++r) {
    sum[r][0] = acc[r][0];
    sum[r][1] = acc[r][1];
    row[r] = a + r * a_stride;
  }
  LOOKBACK_ROLLED
  for (std::uint32_t k = 0; k < n_k; ++k) {
    const v128_t b0 = load(b);
    const v128_t b1 = load(b + 4);
    b += b_stride;
#pragma clang loop unroll(full)
    for (std::uint32_t r = 0; r < R; ++r) {
      const v128_t x = wasm_v128_load32_splat(row[r]++);
      sum[r][0] = Isa::madd(x, b0, sum[r][0]);
      sum[r][1] = Isa::madd(x, b1, sum[r][1]);
    }
  }
  for (std::uint32_t r = 0; r < R; ++r) {
    acc[r][0] = sum[r][0];
    acc[r][1] = sum[r][1];
  }
}

/// Calls f.template operator()<R>() with R = rows, 1 … kTileRows.
template <class Isa, typename F>
inline void with_rows(std::uint32_t rows, F&& f) {
  switch (rows) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
    case 4:
      return f.template operator()<4>();
    default:
      if constexpr (Isa::kTileRows > 4) {
        return rows == 5 ? f.template operator()<5>() : f.template operator()<6>();
      }
  }
}

}  // namespace lookback::kernels
