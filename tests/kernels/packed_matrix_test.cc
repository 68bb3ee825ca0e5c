// Packing keeps every weight: what comes out of a PackedMatrix equals quant::dequantize_row of what went in.
#include "kernels/packed_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "base/half.h"
#include "quant/dequantize.h"
#include "tests/kernels/random_weights.h"

namespace lookback::kernels {
namespace {

void expect_exact(quant::DType dtype, std::uint32_t rows, std::uint32_t cols, std::uint32_t rows_a_call, float scale) {
  RandomWeights random(17 + rows * 31 + cols);
  SCOPED_TRACE(std::string(quant::dtype_name(dtype)) + " " + std::to_string(rows) + "x" + std::to_string(cols));
  Result<PackedMatrix> created = PackedMatrix::create(dtype, rows, cols, "w");
  ASSERT_TRUE(created);
  const auto row_bytes = static_cast<std::size_t>(quant::row_bytes(dtype, cols));
  // One byte in front, so that rows stand at odd addresses.
  std::vector<std::byte> file(1 + rows * row_bytes);
  for (std::uint32_t r = 0; r < rows; ++r) {
    const std::vector<std::byte> row = random.row(dtype, cols, scale);
    std::memcpy(&file[1 + r * row_bytes], row.data(), row_bytes);
  }
  for (std::uint32_t r = 0; r < rows; r += rows_a_call) {
    EXPECT_FALSE(created->complete());
    const std::uint32_t n = std::min(rows_a_call, rows - r);
    ASSERT_TRUE(created->append_rows(std::span(file).subspan(1 + r * row_bytes, n * row_bytes), n));
  }
  EXPECT_TRUE(created->complete());
  std::vector<float> expected(cols);
  std::vector<float> actual(cols);
  for (std::uint32_t r = 0; r < rows; ++r) {
    quant::dequantize_row(dtype, &file[1 + r * row_bytes], expected);
    created->dequantize_row(r, actual);
    for (std::uint32_t c = 0; c < cols; ++c) ASSERT_EQ(actual[c], expected[c]) << "row " << r << " column " << c;
  }
}

TEST(PackedMatrix, GivesBackEveryWeightOfEveryDType) {
  for (const quant::DType dtype : kAllDTypes) {
    const std::uint32_t block = quant::block_size(dtype);
    for (const std::uint32_t rows : {1U, 7U, 8U, 20U}) {
      for (const std::uint32_t blocks : {1U, 2U, 3U}) expect_exact(dtype, rows, blocks * block, 3, 0.02F);
    }
    // Scales at the ends of f16: denormal, and near its largest number.
    expect_exact(dtype, 8, 2 * block, 8, 1e-7F);
    expect_exact(dtype, 8, 2 * block, 8, 6e2F);
  }
}

TEST(PackedMatrix, TakesFloatRowsOfAnyLength) {
  for (const quant::DType dtype : {quant::DType::kF32, quant::DType::kF16, quant::DType::kBF16}) {
    for (std::uint32_t cols = 1; cols <= 66; ++cols) expect_exact(dtype, 9, cols, 4, 0.02F);
  }
}

TEST(PackedMatrix, KeepsF32AsBf16UntilARowIsNot) {
  constexpr std::uint32_t kRows = 21;
  constexpr std::uint32_t kCols = 40;
  RandomWeights random(5);
  std::vector<float> weights(kRows * kCols);
  for (float& w : weights) w = base::bf16_to_f32(base::f32_to_bf16(random.normal(1)));
  for (const std::uint32_t odd_row : {kRows, 0U, 10U, kRows - 1}) {
    std::vector<float> file = weights;
    if (odd_row < kRows) file[odd_row * kCols + 3] = 1.0F + 0x1p-20F;
    Result<PackedMatrix> matrix = PackedMatrix::create(quant::DType::kF32, kRows, kCols, "w");
    ASSERT_TRUE(matrix);
    ASSERT_TRUE(matrix->append_rows(std::as_bytes(std::span(file)), kRows));
    EXPECT_EQ(matrix->layout(), odd_row < kRows ? Layout::kF32 : Layout::kBF16);
    std::vector<float> row(kCols);
    for (std::uint32_t r = 0; r < kRows; ++r) {
      matrix->dequantize_row(r, row);
      EXPECT_TRUE(std::equal(row.begin(), row.end(), &file[r * kCols])) << r;
    }
  }
}

TEST(PackedMatrix, RefusesNumbersThatAreNotFinite) {
  for (const quant::DType dtype : kAllDTypes) {
    SCOPED_TRACE(std::string(quant::dtype_name(dtype)));
    constexpr std::uint32_t kCols = 256;
    RandomWeights random(6);
    std::vector<std::byte> bad = random.row(dtype, kCols, 0.02F);
    const std::size_t at = dtype == quant::DType::kQ6_K ? 208 : 0;
    if (dtype == quant::DType::kF32) {
      const float nan = std::numeric_limits<float>::quiet_NaN();
      std::memcpy(&bad[0], &nan, 4);
    } else {
      const std::uint16_t infinity = dtype == quant::DType::kBF16 ? 0x7f80 : 0x7c00;
      std::memcpy(&bad[at], &infinity, 2);
    }
    Result<PackedMatrix> matrix = PackedMatrix::create(dtype, 3, kCols, "blk.7.attn_q.weight");
    ASSERT_TRUE(matrix);
    ASSERT_TRUE(matrix->append_rows(random.row(dtype, kCols, 0.02F), 1));
    const Result<void> appended = matrix->append_rows(bad, 1);
    ASSERT_FALSE(appended);
    EXPECT_EQ(appended.error().code, ErrorCode::kNonFinite);
    EXPECT_NE(appended.error().message.find("blk.7.attn_q.weight"), std::string::npos) << appended.error().message;
    EXPECT_NE(appended.error().message.find("row 1"), std::string::npos) << appended.error().message;
  }
}

TEST(PackedMatrix, ShippedWeightsTakeNoMoreRoomThanTheirFile) {
  for (const quant::DType dtype : {quant::DType::kQ4_1, quant::DType::kQ8_0}) {
    Result<PackedMatrix> matrix = PackedMatrix::create(dtype, 576, 1536, "w");
    ASSERT_TRUE(matrix);
    EXPECT_EQ(matrix->n_bytes(), 576 * quant::row_bytes(dtype, 1536));
  }
}

}  // namespace
}  // namespace lookback::kernels
