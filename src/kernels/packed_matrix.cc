#include "kernels/packed_matrix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "base/byte_reader.h"
#include "base/check.h"
#include "base/half.h"
#include "kernels/block_codes.h"

namespace lookback::kernels {
namespace {

using base::load_le;
using quant::DType;

Layout layout_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kBF16:
      return Layout::kBF16;  // F32 until a row shows that it is more
    case DType::kF16:
      return Layout::kF16;
    case DType::kQ4_1:
      return Layout::kQ4;
    case DType::kQ4_0:
    case DType::kQ4_K:
      return Layout::kQ4F;
    case DType::kQ8_0:
    case DType::kQ5_0:
      return Layout::kQ8;
    case DType::kQ5_1:
    case DType::kQ5_K:
    case DType::kQ6_K:
      return Layout::kQ8F;
  }
  CHECK(false, "every dtype has a layout");
}

bool is_four_bit(Layout layout) { return layout == Layout::kQ4 || layout == Layout::kQ4F; }
bool is_quantised(Layout layout) { return layout <= Layout::kQ8F; }

template <typename T>
void store(std::byte* p, T value) {
  std::memcpy(p, &value, sizeof value);
}

// f16 scales of the file are copied bit for bit: BlockCodes carries them as f32, which loses nothing.
std::uint16_t f16_bits(const std::byte* p) { return load_le<std::uint16_t>(p); }
bool f16_finite(std::uint16_t bits) { return (bits & 0x7c00U) != 0x7c00U; }

// Row `lane` of a unit: 4-bit codes as the 16 bytes of a file's block, words v at [v, lane].
void store_nibbles(std::byte* unit, std::uint32_t lane, const std::byte* nibbles) {
  for (std::uint32_t v = 0; v < 4; ++v) std::memcpy(unit + (v * kPanelRows + lane) * 4, nibbles + v * 4, 4);
}

void store_bytes(std::byte* unit, std::uint32_t lane, const std::byte* codes) {
  for (std::uint32_t v = 0; v < 8; ++v) std::memcpy(unit + (v * kPanelRows + lane) * 4, codes + v * 4, 4);
}

}  // namespace

Result<PackedMatrix> PackedMatrix::create(DType dtype, std::uint32_t rows, std::uint32_t cols,
                                          const std::string& name) {
  CHECK(rows > 0 && cols > 0 && cols % quant::block_size(dtype) == 0, "a matrix of whole blocks");
  PackedMatrix matrix;
  matrix.name_ = name;
  matrix.dtype_ = dtype;
  matrix.rows_ = rows;
  matrix.cols_ = cols;
  LOOKBACK_TRY(matrix.allocate(layout_of(dtype)));
  return matrix;
}

Result<void> PackedMatrix::allocate(Layout layout) {
  const std::uint64_t panel_bytes = std::uint64_t{n_units()} * unit_bytes(layout);
  Result<base::AlignedBuffer> buffer = base::AlignedBuffer::create(panel_bytes * n_panels(), name_.c_str());
  if (!buffer) return buffer.error();
  layout_ = layout;
  panel_bytes_ = static_cast<std::size_t>(panel_bytes);
  data_ = std::move(*buffer);
  // Rows and columns of padding take part in the kernels' sums.
  if (rows_ % kPanelRows != 0) std::memset(data_.data() + (n_panels() - 1) * panel_bytes_, 0, panel_bytes_);
  if (cols_ % kUnitCols != 0) std::memset(data_.data(), 0, data_.size_bytes());
  return {};
}

Result<void> PackedMatrix::append_rows(std::span<const std::byte> file_rows, std::uint32_t n_rows) {
  const auto row_bytes = static_cast<std::size_t>(quant::row_bytes(dtype_, cols_));
  CHECK(file_rows.size() == row_bytes * n_rows, "whole rows");
  CHECK(n_rows <= rows_ - filled_rows_, "no more rows than announced");
  for (std::uint32_t i = 0; i < n_rows; ++i) LOOKBACK_TRY(append_row(file_rows.data() + i * row_bytes));
  return {};
}

Result<void> PackedMatrix::append_row(const std::byte* file_row) {
  bool finite = true;
  if (is_quantised(layout_)) {
    finite = pack_blocks(file_row, filled_rows_);
  } else {
    if (dtype_ == DType::kF32 && layout_ == Layout::kBF16) {
      bool is_bf16 = true;
      for (std::size_t i = 0; i < cols_; ++i) is_bf16 &= load_le<std::uint16_t>(file_row + i * 4) == 0;
      if (!is_bf16) LOOKBACK_TRY(widen_to_f32());
    }
    finite = pack_floats(file_row, filled_rows_);
  }
  if (!finite) {
    return Error{ErrorCode::kNonFinite,
                 "tensor " + name_ + ": row " + std::to_string(filled_rows_) + " holds NaN or infinity", std::nullopt};
  }
  ++filled_rows_;
  return {};
}

Result<void> PackedMatrix::widen_to_f32() {
  PackedMatrix wide;
  wide.name_ = name_;
  wide.dtype_ = dtype_;
  wide.rows_ = rows_;
  wide.cols_ = cols_;
  LOOKBACK_TRY(wide.allocate(Layout::kF32));
  // Both layouts are [panel, column, row of the panel], so the numbers keep their order.
  const std::size_t filled = (filled_rows_ + kPanelRows - 1) / kPanelRows * panel_bytes_;
  for (std::size_t i = 0; i < filled / 2; ++i) {
    store(wide.data_.data() + i * 4, std::uint32_t{load_le<std::uint16_t>(data_.data() + i * 2)} << 16);
  }
  wide.filled_rows_ = filled_rows_;
  *this = std::move(wide);
  return {};
}

bool PackedMatrix::pack_blocks(const std::byte* file_row, std::uint32_t row) {
  const std::uint32_t lane = row % kPanelRows;
  std::byte* unit = data_.data() + row / kPanelRows * panel_bytes_;
  bool finite = true;
  for (std::uint32_t i = 0; i < n_units(); ++i, unit += unit_bytes(layout_)) {
    // The shipped weights are of these two types, so they are copied word by word.
    if (dtype_ == DType::kQ4_1) {
      const std::byte* block = file_row + std::size_t{i} * 20;
      store_nibbles(unit, lane, block + 4);
      std::memcpy(unit + kQ4CodeBytes + lane * 2, block, 2);
      std::memcpy(unit + kQ4CodeBytes + (kPanelRows + lane) * 2, block + 2, 2);
      finite &= f16_finite(f16_bits(block)) && f16_finite(f16_bits(block + 2));
      continue;
    }
    if (layout_ == Layout::kQ8) {
      std::byte* scales = unit + kQ8CodeBytes;
      const std::byte* block = file_row + std::size_t{i} * quant::block_bytes(dtype_);
      if (dtype_ == DType::kQ8_0) {
        store_bytes(unit, lane, block + 2);
      } else {
        store_bytes(unit, lane, reinterpret_cast<const std::byte*>(read_block_codes(dtype_, file_row, i).code.data()));
      }
      std::memcpy(scales + lane * 2, block, 2);
      finite &= f16_finite(f16_bits(block));
      continue;
    }
    const BlockCodes codes = read_block_codes(dtype_, file_row, i);
    finite &= std::isfinite(codes.scale[0]) && std::isfinite(codes.scale[1]) && std::isfinite(codes.minimum);
    if (layout_ == Layout::kQ4F) {
      std::array<std::byte, 16> nibbles;
      for (std::size_t j = 0; j < 16; ++j) nibbles[j] = static_cast<std::byte>(codes.code[j] | codes.code[j + 16] << 4);
      store_nibbles(unit, lane, nibbles.data());
      store(unit + kQ4CodeBytes + lane * 4, codes.scale[0]);
      store(unit + kQ4CodeBytes + (kPanelRows + lane) * 4, codes.minimum);
    } else {
      store_bytes(unit, lane, reinterpret_cast<const std::byte*>(codes.code.data()));
      store(unit + kQ8CodeBytes + lane * 4, codes.scale[0]);
      store(unit + kQ8CodeBytes + (kPanelRows + lane) * 4, codes.scale[1]);
      store(unit + kQ8CodeBytes + (2 * kPanelRows + lane) * 4, codes.minimum);
    }
  }
  return finite;
}

bool PackedMatrix::pack_floats(const std::byte* file_row, std::uint32_t row) {
  std::byte* panel = data_.data() + row / kPanelRows * panel_bytes_;
  const std::size_t lane = row % kPanelRows;
  bool finite = true;
  for (std::size_t i = 0; i < cols_; ++i) {
    const std::size_t at = i * kPanelRows + lane;
    if (dtype_ == DType::kF32) {
      const auto bits = load_le<std::uint32_t>(file_row + i * 4);
      finite &= (bits & 0x7f800000U) != 0x7f800000U;
      if (layout_ == Layout::kF32) {
        store(panel + at * 4, bits);
      } else {
        store(panel + at * 2, static_cast<std::uint16_t>(bits >> 16));
      }
    } else {
      const auto bits = load_le<std::uint16_t>(file_row + i * 2);
      const unsigned exponent = dtype_ == DType::kF16 ? 0x7c00U : 0x7f80U;
      finite &= (bits & exponent) != exponent;
      store(panel + at * 2, bits);
    }
  }
  return finite;
}

void PackedMatrix::dequantize_row(std::uint32_t row, std::span<float> out) const {
  CHECK(row < filled_rows_ && out.size() == cols_, "a packed row and room for it");
  const std::uint32_t lane = row % kPanelRows;
  const std::byte* panel_data = panel(row / kPanelRows);
  if (!is_quantised(layout_)) {
    for (std::size_t i = 0; i < cols_; ++i) {
      const std::size_t at = i * kPanelRows + lane;
      if (layout_ == Layout::kF32) {
        out[i] = load_le<float>(panel_data + at * 4);
      } else {
        const auto bits = load_le<std::uint16_t>(panel_data + at * 2);
        out[i] = layout_ == Layout::kF16 ? base::f16_to_f32(bits) : base::bf16_to_f32(bits);
      }
    }
    return;
  }
  const std::size_t size = unit_bytes(layout_);
  for (std::uint32_t i = 0; i < cols_; ++i) {
    const std::byte* unit = panel_data + i / kUnitCols * size;
    const std::uint32_t k = i % kUnitCols;
    const bool four_bit = is_four_bit(layout_);
    const std::uint32_t byte_col = four_bit ? k % 16 : k;
    const std::byte byte = unit[(byte_col / 4 * kPanelRows + lane) * 4 + byte_col % 4];
    const std::byte* scales = unit + (four_bit ? kQ4CodeBytes : kQ8CodeBytes);
    float code = static_cast<float>(std::to_integer<std::int8_t>(byte));
    if (four_bit) code = static_cast<float>(std::to_integer<int>(k < 16 ? byte & std::byte{15} : byte >> 4));
    float scale = 0;
    float minimum = 0;
    switch (layout_) {
      case Layout::kQ4:
        scale = base::f16_to_f32(load_le<std::uint16_t>(scales + lane * 2));
        minimum = base::f16_to_f32(load_le<std::uint16_t>(scales + (kPanelRows + lane) * 2));
        break;
      case Layout::kQ4F:
        scale = load_le<float>(scales + lane * 4);
        minimum = load_le<float>(scales + (kPanelRows + lane) * 4);
        break;
      case Layout::kQ8:
        scale = base::f16_to_f32(load_le<std::uint16_t>(scales + lane * 2));
        break;
      default:
        scale = load_le<float>(scales + (k / 16 * kPanelRows + lane) * 4);
        minimum = load_le<float>(scales + (2 * kPanelRows + lane) * 4);
    }
    out[i] = scale * code + minimum;
  }
}

}  // namespace lookback::kernels
