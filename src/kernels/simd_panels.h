// Panels of packed weights (packed_matrix.h) unpacked for the register tiles: to f32, or to 16-bit codes and f32 scales.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/packed_matrix.h"
#include "kernels/simd.h"

namespace lookback::kernels {

/// Scales and minima of one unit, rows 0…3 and 4…7.
struct UnitScales {
  v128_t scale[2];
  v128_t minimum[2];
};

/// The scales behind the codes of a unit of kQ4, kQ4F or kQ8; kQ8 has no minima: 0.
template <Layout L>
inline UnitScales unit_scales(const std::byte* unit) {
  UnitScales s;
  if constexpr (L == Layout::kQ4F) {
    const auto* p = reinterpret_cast<const float*>(unit + 128);
    return {{load(p), load(p + 4)}, {load(p + 8), load(p + 12)}};
  } else {
    const std::byte* p = unit + (L == Layout::kQ4 ? 128 : 256);
    const v128_t mask = load(simd_constants.half_bits.data());
    const v128_t scales = load(p);
    s.scale[0] = f16_to_f32_low(scales, mask);
    s.scale[1] = f16_to_f32_high(scales, mask);
    if constexpr (L == Layout::kQ4) {
      const v128_t minima = load(p + 16);
      s.minimum[0] = f16_to_f32_low(minima, mask);
      s.minimum[1] = f16_to_f32_high(minima, mask);
    } else {
      s.minimum[0] = s.minimum[1] = wasm_f32x4_splat(0);
    }
  }
  return s;
}

/// Column j of four in a word of 4-bit codes (low or high nibbles), or of bytes, as f32: one number a row.
template <int kShift>
inline v128_t nibble_to_f32(v128_t words, v128_t mask) {
  return wasm_f32x4_convert_i32x4(wasm_v128_and(wasm_i32x4_shr(words, kShift), mask));
}
template <int kColumn>
inline v128_t byte_to_f32(v128_t words) {
  return wasm_f32x4_convert_i32x4(wasm_i32x4_shr(wasm_i32x4_shl(words, 24 - 8 * kColumn), 24));
}

/// Units of a panel → out [32 · n_units, 8] f32: the exact weights.
template <class Isa>
struct PanelToF32 {
  static void q4(const std::byte* unit, const UnitScales& s, float* out) {
    const v128_t mask = load(simd_constants.low_nibble_i32.data());
    LOOKBACK_ROLLED
    for (std::uint32_t v = 0; v < 4; ++v) {
      for (std::uint32_t half = 0; half < 2; ++half) {
        const v128_t words = load(unit + half * 16);
        const v128_t scale = s.scale[half];
        const v128_t minimum = s.minimum[half];
        float* to = out + half * 4;
        wasm_v128_store(to, Isa::madd(nibble_to_f32<0>(words, mask), scale, minimum));
        wasm_v128_store(to + 8, Isa::madd(nibble_to_f32<8>(words, mask), scale, minimum));
        wasm_v128_store(to + 16, Isa::madd(nibble_to_f32<16>(words, mask), scale, minimum));
        wasm_v128_store(to + 24, Isa::madd(nibble_to_f32<24>(words, mask), scale, minimum));
        wasm_v128_store(to + 128, Isa::madd(nibble_to_f32<4>(words, mask), scale, minimum));
        wasm_v128_store(to + 136, Isa::madd(nibble_to_f32<12>(words, mask), scale, minimum));
        wasm_v128_store(to + 144, Isa::madd(nibble_to_f32<20>(words, mask), scale, minimum));
        wasm_v128_store(to + 152, Isa::madd(nibble_to_f32<28>(words, mask), scale, minimum));
      }
      unit += 32;
      out += 32;
    }
  }

  // n_words groups of four columns of bytes.
  static void q8(const std::byte* codes, std::uint32_t n_words, const v128_t (&scale)[2], const v128_t (&minimum)[2],
                 float* out) {
    LOOKBACK_ROLLED
    for (std::uint32_t v = 0; v < n_words; ++v) {
      for (std::uint32_t half = 0; half < 2; ++half) {
        const v128_t words = load(codes + half * 16);
        float* to = out + half * 4;
        wasm_v128_store(to, Isa::madd(byte_to_f32<0>(words), scale[half], minimum[half]));
        wasm_v128_store(to + 8, Isa::madd(byte_to_f32<1>(words), scale[half], minimum[half]));
        wasm_v128_store(to + 16, Isa::madd(byte_to_f32<2>(words), scale[half], minimum[half]));
        wasm_v128_store(to + 24, Isa::madd(byte_to_f32<3>(words), scale[half], minimum[half]));
      }
      codes += 32;
      out += 32;
    }
  }

  static void run(Layout layout, const std::byte* unit, std::uint32_t n_units, float* out) {
    const std::size_t step = unit_bytes(layout);
    for (std::uint32_t i = 0; i < n_units; ++i, unit += step, out += kUnitCols * kPanelRows) {
      switch (layout) {
        case Layout::kQ4:
          q4(unit, unit_scales<Layout::kQ4>(unit), out);
          break;
        case Layout::kQ4F:
          q4(unit, unit_scales<Layout::kQ4F>(unit), out);
          break;
        case Layout::kQ8: {
          const UnitScales s = unit_scales<Layout::kQ8>(unit);
          q8(unit, 8, s.scale, s.minimum, out);
          break;
        }
        case Layout::kQ8F: {
          const auto* p = reinterpret_cast<const float*>(unit + 256);
          const v128_t minimum[2] = {load(p + 16), load(p + 20)};
          const v128_t first[2] = {load(p), load(p + 4)};
          const v128_t second[2] = {load(p + 8), load(p + 12)};
          q8(unit, 4, first, minimum, out);
          q8(unit + 128, 4, second, minimum, out + 128);
          break;
        }
        case Layout::kBF16:
          LOOKBACK_ROLLED
          for (std::uint32_t k = 0; k < kUnitCols; ++k) {
            const v128_t row = load(unit + k * 16);
            wasm_v128_store(out + k * 8, wasm_i32x4_shl(wasm_u32x4_extend_low_u16x8(row), 16));
            wasm_v128_store(out + k * 8 + 4, wasm_i32x4_shl(wasm_u32x4_extend_high_u16x8(row), 16));
          }
          break;
        case Layout::kF16: {
          const v128_t mask = load(simd_constants.half_bits.data());
          LOOKBACK_ROLLED
          for (std::uint32_t k = 0; k < kUnitCols; ++k) {
            const v128_t row = load(unit + k * 16);
            wasm_v128_store(out + k * 8, f16_to_f32_low(row, mask));
            wasm_v128_store(out + k * 8 + 4, f16_to_f32_high(row, mask));
          }
          break;
        }
        case Layout::kF32:
          LOOKBACK_ROLLED
          for (std::uint32_t k = 0; k < kUnitCols * 2; ++k) wasm_v128_store(out + k * 4, load(unit + k * 16));
          break;
      }
    }
  }
};

// Pairs of columns. i32x4.dot_i16x8 multiplies neighbours, and shifts of a word of four columns give columns (0, 2) and
// (1, 3). So integer activations and 16-bit panels go pair by pair: even(0), odd(0), even(1), odd(1) …, where even(u) is
// columns (4u, 4u + 2) and odd(u) columns (4u + 1, 4u + 3).

/// 16-bit codes of four rows: pairs of four columns of bytes, or of 4-bit codes.
struct CodePairs {
  v128_t even, odd;
};
inline CodePairs byte_pairs(v128_t words) {
  return {wasm_i16x8_shr(wasm_i16x8_shl(words, 8), 8), wasm_i16x8_shr(words, 8)};
}
inline CodePairs low_nibble_pairs(v128_t words, v128_t mask) {
  return {wasm_v128_and(words, mask), wasm_v128_and(wasm_u16x8_shr(words, 8), mask)};
}
inline CodePairs high_nibble_pairs(v128_t words, v128_t mask) {
  return {wasm_v128_and(wasm_u16x8_shr(words, 4), mask), wasm_u16x8_shr(words, 12)};
}

/// 32 columns of a panel as integers.
struct CodeUnit {
  alignas(16) std::int16_t pairs[16][8][2];
  alignas(16) float scale[8];
  alignas(16) float minimum[8];
};

/// Units of a panel of kQ4, kQ4F or kQ8 → out [n_units].
template <Layout L>
inline void panel_to_codes(const std::byte* unit, std::uint32_t n_units, CodeUnit* out) {
  const v128_t mask = load(simd_constants.low_nibble_i16.data());
  for (std::uint32_t i = 0; i < n_units; ++i, unit += unit_bytes(L), ++out) {
    const UnitScales s = unit_scales<L>(unit);
    for (std::uint32_t half = 0; half < 2; ++half) {
      wasm_v128_store(out->scale + half * 4, s.scale[half]);
      wasm_v128_store(out->minimum + half * 4, s.minimum[half]);
      if constexpr (L == Layout::kQ8) {
        LOOKBACK_ROLLED
        for (std::uint32_t v = 0; v < 8; ++v) {
          const CodePairs codes = byte_pairs(load(unit + v * 32 + half * 16));
          wasm_v128_store(out->pairs[2 * v][half * 4], codes.even);
          wasm_v128_store(out->pairs[2 * v + 1][half * 4], codes.odd);
        }
      } else {
        LOOKBACK_ROLLED
        for (std::uint32_t v = 0; v < 4; ++v) {
          const v128_t words = load(unit + v * 32 + half * 16);
          const CodePairs low = low_nibble_pairs(words, mask);
          const CodePairs high = high_nibble_pairs(words, mask);
          wasm_v128_store(out->pairs[2 * v][half * 4], low.even);
          wasm_v128_store(out->pairs[2 * v + 1][half * 4], low.odd);
          wasm_v128_store(out->pairs[2 * v + 8][half * 4], high.even);
          wasm_v128_store(out->pairs[2 * v + 9][half * 4], high.odd);
        }
      }
    }
  }
}

}  // namespace lookback::kernels
