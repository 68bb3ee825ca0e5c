#include "kernels/block_codes.h"

#include "base/byte_reader.h"
#include "base/check.h"
#include "base/half.h"

namespace lookback::kernels {
namespace {

using base::load_le;

float f16_at(const std::byte* p) { return base::f16_to_f32(load_le<std::uint16_t>(p)); }
int int_at(const std::byte* p) { return std::to_integer<int>(*p); }
std::int8_t code(int value) { return static_cast<std::int8_t>(value); }

// The four-bit codes of a block of 32: low nibbles are codes 0…15, high ones 16…31.
void read_nibbles(const std::byte* nibbles, BlockCodes& block) {
  for (std::size_t i = 0; i < 16; ++i) {
    block.code[i] = code(int_at(nibbles + i) & 15);
    block.code[i + 16] = code(int_at(nibbles + i) >> 4);
  }
}

// Bit i of `bits` is the fifth bit of code i.
void add_fifth_bits(std::uint32_t bits, BlockCodes& block) {
  for (std::size_t i = 0; i < 32; ++i) block.code[i] = code(block.code[i] | (static_cast<int>((bits >> i) & 1U) << 4));
}

// Sub-block j of Q4_K or Q5_K: its 6-bit scale and minimum out of 12 bytes.
void read_k_scales(const std::byte* block, int j, BlockCodes& out) {
  const std::byte* packed = block + 4;
  int scale = 0;
  int minimum = 0;
  if (j < 4) {
    scale = int_at(packed + j) & 63;
    minimum = int_at(packed + j + 4) & 63;
  } else {
    scale = (int_at(packed + j + 4) & 15) | (int_at(packed + j - 4) >> 6 << 4);
    minimum = (int_at(packed + j + 4) >> 4) | (int_at(packed + j) >> 6 << 4);
  }
  out.scale[0] = out.scale[1] = f16_at(block) * static_cast<float>(scale);
  out.minimum = -(f16_at(block + 2) * static_cast<float>(minimum));
}

// Sub-blocks 2i and 2i + 1 share 32 bytes of nibbles, low ones first.
void read_k_nibbles(const std::byte* nibbles, int j, BlockCodes& out) {
  for (std::size_t i = 0; i < 32; ++i) {
    const int byte = int_at(nibbles + j / 2 * 32 + static_cast<int>(i));
    out.code[i] = code(j % 2 == 0 ? byte & 15 : byte >> 4);
  }
}

BlockCodes read_q4_k(const std::byte* block, int j) {
  BlockCodes out{};
  read_k_scales(block, j, out);
  read_k_nibbles(block + 16, j, out);
  return out;
}

BlockCodes read_q5_k(const std::byte* block, int j) {
  BlockCodes out{};
  read_k_scales(block, j, out);
  read_k_nibbles(block + 48, j, out);
  for (std::size_t i = 0; i < 32; ++i) out.code[i] = code(out.code[i] | ((int_at(block + 16 + i) >> j & 1) << 4));
  return out;
}

BlockCodes read_q6_k(const std::byte* block, int j) {
  BlockCodes out{};
  const int half = j / 4;
  const int quarter = j % 4;
  for (int i = 0; i < 32; ++i) {
    const int low = int_at(block + half * 64 + quarter % 2 * 32 + i);
    const int high = int_at(block + 128 + half * 32 + i) >> (2 * quarter) & 3;
    out.code[static_cast<std::size_t>(i)] = code(((quarter < 2 ? low & 15 : low >> 4) | high << 4) - 32);
  }
  const float d = f16_at(block + 208);
  for (int part = 0; part < 2; ++part) {
    out.scale[static_cast<std::size_t>(part)] =
        d * static_cast<float>(load_le<std::int8_t>(block + 192 + j * 2 + part));
  }
  return out;
}

BlockCodes read_block_of_32(quant::DType dtype, const std::byte* block) {
  BlockCodes out{};
  const float d = f16_at(block);
  out.scale = {d, d};
  switch (dtype) {
    case quant::DType::kQ8_0:
      for (std::size_t i = 0; i < 32; ++i) out.code[i] = load_le<std::int8_t>(block + 2 + i);
      break;
    case quant::DType::kQ4_0:  // d·(q − 8) = d·q − 8d, exact on both sides
      read_nibbles(block + 2, out);
      out.minimum = -8.0F * d;
      break;
    case quant::DType::kQ4_1:
      out.minimum = f16_at(block + 2);
      read_nibbles(block + 4, out);
      break;
    case quant::DType::kQ5_0:
      read_nibbles(block + 6, out);
      add_fifth_bits(load_le<std::uint32_t>(block + 2), out);
      for (std::int8_t& q : out.code) q = code(q - 16);
      break;
    case quant::DType::kQ5_1:
      out.minimum = f16_at(block + 2);
      read_nibbles(block + 8, out);
      add_fifth_bits(load_le<std::uint32_t>(block + 4), out);
      break;
    default:
      CHECK(false, "not a block format of 32");
  }
  return out;
}

}  // namespace

BlockCodes read_block_codes(quant::DType dtype, const std::byte* row, std::uint32_t index) {
  if (quant::block_size(dtype) == 32) {
    return read_block_of_32(dtype, row + static_cast<std::size_t>(index) * quant::block_bytes(dtype));
  }
  const std::byte* block = row + static_cast<std::size_t>(index / 8) * quant::block_bytes(dtype);
  const int sub_block = static_cast<int>(index % 8);
  switch (dtype) {
    case quant::DType::kQ4_K:
      return read_q4_k(block, sub_block);
    case quant::DType::kQ5_K:
      return read_q5_k(block, sub_block);
    case quant::DType::kQ6_K:
      return read_q6_k(block, sub_block);
    default:
      CHECK(false, "not a block format");
  }
  return {};
}

}  // namespace lookback::kernels
