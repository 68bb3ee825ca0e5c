// PackedMatrix: a weight matrix in the order in which the kernels read it. Weights stay quantised in memory; every
// layout gives back exactly the values of quant::dequantize_row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/aligned_buffer.h"
#include "lookback/result.h"
#include "quant/dtype.h"

namespace lookback::kernels {

/// How the codes of a matrix lie in memory. All layouts go in panels of 8 rows, and along a panel in units of 32
/// columns (rows and columns are padded with zeros), so that a kernel reads one stream from front to back.
///
///     kQ4    128 B codes, 8 f16 scales, 8 f16 minima                w = scale · code + minimum, code 0…15     Q4_1
///     kQ4F   128 B codes, 8 f32 scales, 8 f32 minima                the same                                  Q4_0
///     Q4_K kQ8    256 B codes, 8 f16 scales                              w = scale · code, code −128…127 Q8_0 Q5_0
///     kQ8F   256 B codes, 8 f32 scales ·2 (columns 0…15, 16…31), 8 f32 minima                                 Q5_1
///     Q5_K Q6_K kF16, kBF16, kF32   [32 columns, 8 rows] of the number
///
/// Codes of kQ8: [column/4, row, column%4] bytes. Codes of kQ4: [(column%16)/4, row, column%4] bytes, columns 0…15 in
/// the low four bits and 16…31 in the high ones.
enum class Layout { kQ4, kQ4F, kQ8, kQ8F, kF16, kBF16, kF32 };

inline constexpr std::uint32_t kPanelRows = 8;
inline constexpr std::uint32_t kUnitCols = 32;

// Where the scales of a unit start, behind the codes.
inline constexpr std::uint32_t kQ4CodeBytes = kPanelRows * kUnitCols / 2;
inline constexpr std::uint32_t kQ8CodeBytes = kPanelRows * kUnitCols;

/// Bytes of one unit [8 rows, 32 columns].
constexpr std::uint32_t unit_bytes(Layout layout) {
  switch (layout) {
    case Layout::kQ4:
      return kQ4CodeBytes + 2 * kPanelRows * 2;
    case Layout::kQ4F:
      return kQ4CodeBytes + 2 * kPanelRows * 4;
    case Layout::kQ8:
      return kQ8CodeBytes + kPanelRows * 2;
    case Layout::kQ8F:
      return kQ8CodeBytes + 3 * kPanelRows * 4;
    case Layout::kF16:
    case Layout::kBF16:
      return kUnitCols * kPanelRows * 2;
    case Layout::kF32:
      break;
  }
  return kUnitCols * kPanelRows * 4;
}

class PackedMatrix {
 public:
  PackedMatrix() = default;

  /// An empty matrix that waits for its rows. name appears in errors.
  /// Errors: out_of_memory; unsupported_dtype never: every quant::DType has a layout.
  static Result<PackedMatrix> create(quant::DType dtype, std::uint32_t rows, std::uint32_t cols,
                                     const std::string& name);

  /// The next n_rows rows as the file holds them (row_bytes each, any alignment), in file order.
  /// F32 rows are kept as BF16 while every number is one, and widened once when a row is not.
  /// Errors: non_finite (names matrix and row), out_of_memory. More rows than announced is CHECKed.
  Result<void> append_rows(std::span<const std::byte> file_rows, std::uint32_t n_rows);

  std::uint32_t rows() const { return rows_; }
  std::uint32_t cols() const { return cols_; }
  bool complete() const { return filled_rows_ == rows_; }
  std::uint64_t n_bytes() const { return data_.size_bytes(); }
  Layout layout() const { return layout_; }
  const std::string& name() const { return name_; }

  /// Row `row` → out [cols] f32, equal to quant::dequantize_row of the file's bytes. Cost: O(cols), a strided read.
  void dequantize_row(std::uint32_t row, std::span<float> out) const;

  // For the kernels.
  std::uint32_t n_panels() const { return (rows_ + kPanelRows - 1) / kPanelRows; }
  std::uint32_t n_units() const { return (cols_ + kUnitCols - 1) / kUnitCols; }
  const std::byte* panel(std::uint32_t index) const { return data_.data() + index * panel_bytes_; }

 private:
  Result<void> allocate(Layout layout);
  Result<void> widen_to_f32();
  Result<void> append_row(const std::byte* file_row);
  bool pack_blocks(const std::byte* file_row, std::uint32_t row);  // false: NaN or infinity
  bool pack_floats(const std::byte* file_row, std::uint32_t row);

  std::string name_;
  quant::DType dtype_ = quant::DType::kF32;
  Layout layout_ = Layout::kF32;
  std::uint32_t rows_ = 0;
  std::uint32_t cols_ = 0;
  std::uint32_t filled_rows_ = 0;
  std::size_t panel_bytes_ = 0;
  base::AlignedBuffer data_;
};

}  // namespace lookback::kernels
