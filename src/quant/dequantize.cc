#include "quant/dequantize.h"

#include <cstdint>

#include "base/byte_reader.h"
#include "base/check.h"
#include "base/half.h"

namespace lookback::quant {
namespace {

using base::load_le;

float f16_at(const std::byte* p) { return base::f16_to_f32(load_le<std::uint16_t>(p)); }
int low_nibble(std::byte b) { return std::to_integer<int>(b & std::byte{15}); }
int high_nibble(std::byte b) { return std::to_integer<int>(b >> 4); }

// The blocks of 32. Codes 0…15 are low nibbles, 16…31 high nibbles of the same 16 bytes.

/// f16 d, i8 q[32]: d·q
void dequantize_q8_0(const std::byte* block, float* out) {
  const float d = f16_at(block);
  for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(load_le<std::int8_t>(block + 2 + i)) * d;
}

/// f16 d, 4-bit q[32]: d·(q − 8)
void dequantize_q4_0(const std::byte* block, float* out) {
  const float d = f16_at(block);
  for (int i = 0; i < 16; ++i) {
    out[i] = static_cast<float>(low_nibble(block[2 + i]) - 8) * d;
    out[i + 16] = static_cast<float>(high_nibble(block[2 + i]) - 8) * d;
  }
}

/// f16 d, f16 m, 4-bit q[32]: d·q + m
void dequantize_q4_1(const std::byte* block, float* out) {
  const float d = f16_at(block);
  const float m = f16_at(block + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = static_cast<float>(low_nibble(block[4 + i])) * d + m;
    out[i + 16] = static_cast<float>(high_nibble(block[4 + i])) * d + m;
  }
}

/// The fifth bits of 32 codes sit in a u32, bit i for code i.
int fifth_bit(std::uint32_t bits, int i) { return static_cast<int>((bits >> i) & 1U) << 4; }

/// f16 d, u32 fifth bits, 4-bit q[32]: d·(q − 16)
void dequantize_q5_0(const std::byte* block, float* out) {
  const float d = f16_at(block);
  const auto bits = load_le<std::uint32_t>(block + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = static_cast<float>((low_nibble(block[6 + i]) | fifth_bit(bits, i)) - 16) * d;
    out[i + 16] = static_cast<float>((high_nibble(block[6 + i]) | fifth_bit(bits, i + 16)) - 16) * d;
  }
}

/// f16 d, f16 m, u32 fifth bits, 4-bit q[32]: d·q + m
void dequantize_q5_1(const std::byte* block, float* out) {
  const float d = f16_at(block);
  const float m = f16_at(block + 2);
  const auto bits = load_le<std::uint32_t>(block + 4);
  for (int i = 0; i < 16; ++i) {
    out[i] = static_cast<float>(low_nibble(block[8 + i]) | fifth_bit(bits, i)) * d + m;
    out[i + 16] = static_cast<float>(high_nibble(block[8 + i]) | fifth_bit(bits, i + 16)) * d + m;
  }
}

struct ScaleMin {
  float scale, min;
};

/// Eight 6-bit scales and eight 6-bit minima of a K block in 12 bytes: 0…3 are the low 6 bits of bytes 0…3 and 4…7; 4…7
/// have their low 4 bits in the nibbles of bytes 8…11 and their high 2 bits on top of 0…3.
ScaleMin scale_min_k4(const std::byte* scales, int j) {
  const auto byte = [&](int i) { return std::to_integer<int>(scales[i]); };
  if (j < 4) return {static_cast<float>(byte(j) & 63), static_cast<float>(byte(j + 4) & 63)};
  return {static_cast<float>((byte(j + 4) & 15) | ((byte(j - 4) >> 6) << 4)),
          static_cast<float>((byte(j + 4) >> 4) | ((byte(j) >> 6) << 4))};
}

/// The 256 of Q4_K and Q5_K: f16 d, f16 dmin, scales and minima, then (Q5_K) 32 bytes of fifth bits, then 4-bit codes:
/// per 64 elements 32 bytes, low nibbles first. Element: (d·scale)·q − dmin·min of its sub-block of 32.
void dequantize_q45_k(const std::byte* block, const std::byte* fifth_bits, const std::byte* codes, float* out) {
  const float d = f16_at(block);
  const float dmin = f16_at(block + 2);
  for (int sub_block = 0; sub_block < 8; ++sub_block) {
    const auto [scale, min] = scale_min_k4(block + 4, sub_block);
    const float sub_d = d * scale;
    const float sub_min = dmin * min;
    for (int i = 0; i < 32; ++i) {
      const std::byte code = codes[sub_block / 2 * 32 + i];
      int q = sub_block % 2 == 0 ? low_nibble(code) : high_nibble(code);
      if (fifth_bits != nullptr) q |= fifth_bit(std::to_integer<std::uint32_t>(fifth_bits[i]), sub_block);
      out[sub_block * 32 + i] = sub_d * static_cast<float>(q) - sub_min;
    }
  }
}

void dequantize_q4_k(const std::byte* block, float* out) { dequantize_q45_k(block, nullptr, block + 16, out); }
void dequantize_q5_k(const std::byte* block, float* out) { dequantize_q45_k(block, block + 16, block + 48, out); }

/// u8 low 4 bits [128], u8 high 2 bits [64], i8 scale[16] (one per 16), f16 d: d·scale·(q − 32)
void dequantize_q6_k(const std::byte* block, float* out) {
  const float d = f16_at(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128;
    const int quarter = i % 128 / 32;  // which 32 of the half: quarters 0, 1 are low nibbles, 2, 3 high nibbles
    const std::byte low = block[half * 64 + quarter % 2 * 32 + i % 32];
    const std::byte high = block[128 + half * 32 + i % 32];
    const int q =
        (quarter < 2 ? low_nibble(low) : high_nibble(low)) | ((std::to_integer<int>(high) >> (2 * quarter) & 3) << 4);
    const float scale = d * static_cast<float>(load_le<std::int8_t>(block + 192 + i / 16));
    out[i] = scale * static_cast<float>(q - 32);
  }
}

template <typename BlockFunction>
void each_block(DType dtype, const std::byte* row, std::span<float> out, BlockFunction dequantize_block) {
  CHECK(out.size() % block_size(dtype) == 0, "a row is whole blocks");
  for (std::size_t i = 0; i < out.size(); i += block_size(dtype), row += block_bytes(dtype)) {
    dequantize_block(row, out.data() + i);
  }
}

}  // namespace

void dequantize_row(DType dtype, const std::byte* row, std::span<float> out) {
  switch (dtype) {
    case DType::kF32:
      return each_block(dtype, row, out, [](auto* p, float* y) { *y = load_le<float>(p); });
    case DType::kF16:
      return each_block(dtype, row, out, [](auto* p, float* y) { *y = f16_at(p); });
    case DType::kBF16:
      return each_block(dtype, row, out, [](auto* p, float* y) { *y = base::bf16_to_f32(load_le<std::uint16_t>(p)); });
    case DType::kQ8_0:
      return each_block(dtype, row, out, dequantize_q8_0);
    case DType::kQ4_0:
      return each_block(dtype, row, out, dequantize_q4_0);
    case DType::kQ4_1:
      return each_block(dtype, row, out, dequantize_q4_1);
    case DType::kQ5_0:
      return each_block(dtype, row, out, dequantize_q5_0);
    case DType::kQ5_1:
      return each_block(dtype, row, out, dequantize_q5_1);
    case DType::kQ4_K:
      return each_block(dtype, row, out, dequantize_q4_k);
    case DType::kQ5_K:
      return each_block(dtype, row, out, dequantize_q5_k);
    case DType::kQ6_K:
      return each_block(dtype, row, out, dequantize_q6_k);
  }
  CHECK(false, "every dtype has its case");
}

}  // namespace lookback::quant
