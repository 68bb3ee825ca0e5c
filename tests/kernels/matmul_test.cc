// Every variant's matmul against the formula in double: all dtypes, token counts through every tile size, odd shapes and
// addresses, outliers and denormals. The bound is a small multiple of the precision's epsilon times Σ|w·x|.
#include "kernels/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/attention.h"
#include "kernels/variants.h"
#include "quant/dequantize.h"
#include "tests/kernels/random_weights.h"

namespace lookback::kernels {
namespace {

constexpr double kF32Epsilon = 0x1p-24;

PackedMatrix make_matrix(RandomWeights& random, quant::DType dtype, std::uint32_t rows, std::uint32_t cols,
                         float scale) {
  Result<PackedMatrix> matrix = PackedMatrix::create(dtype, rows, cols, "w");
  EXPECT_TRUE(matrix);
  for (std::uint32_t r = 0; r < rows; ++r) EXPECT_TRUE(matrix->append_rows(random.row(dtype, cols, scale), 1));
  return std::move(*matrix);
}

Workspace make_workspace(std::uint32_t max_cols, int n_threads) {
  Result<Workspace> workspace = Workspace::create(
      {.max_cols = max_cols, .n_head = 1, .n_kv_head = 1, .head_dim = 8, .max_positions = 64}, n_threads);
  EXPECT_TRUE(workspace);
  return std::move(*workspace);
}

// What rounding may cost one output. Fast: half a step of the unit's largest activation for each weight of the unit.
double tolerance(const std::vector<float>& w, const float* x, Precision precision) {
  double sum = 0;
  double steps = 0;
  for (std::size_t first = 0; first < w.size(); first += kUnitCols) {
    double largest = 0;
    double weights = 0;
    for (std::size_t c = first; c < std::min<std::size_t>(w.size(), first + kUnitCols); ++c) {
      sum += std::abs(static_cast<double>(w[c]) * static_cast<double>(x[c]));
      largest = std::max(largest, std::abs(static_cast<double>(x[c])));
      weights += std::abs(static_cast<double>(w[c]));
    }
    steps += largest * weights;
  }
  const double rounding = 8 * kF32Epsilon * sum + 1e-30;
  return precision == Precision::kFast ? rounding + steps * 0.51 / 32767 : rounding + steps * 0x1p-24;
}

struct Case {
  quant::DType dtype;
  std::uint32_t rows, cols, n_tokens;
  Precision precision;
  Write write = Write::kSet;
  float scale = 1;
};

void expect_close(const KernelTable& variant, const Case& c) {
  const std::uint32_t seed = c.rows * 7919 + c.cols * 104729 + c.n_tokens;
  SCOPED_TRACE(std::string(variant.name) + " " + std::string(quant::dtype_name(c.dtype)) + " [" +
               std::to_string(c.rows) + ", " + std::to_string(c.cols) + "] tokens " + std::to_string(c.n_tokens) +
               (c.precision == Precision::kFast ? " fast" : " exact") + " seed " + std::to_string(seed));
  RandomWeights random(seed);
  const PackedMatrix matrix = make_matrix(random, c.dtype, c.rows, c.cols, 0.02F);
  Workspace workspace = make_workspace(c.cols, 1);
  base::ThreadPool pool(1);
  const std::size_t x_stride = c.cols + 3;
  const std::size_t y_stride = c.rows + 5;
  const std::vector<float> x = random.activations(c.n_tokens * x_stride + 1, c.scale);
  std::vector<float> y = random.activations(c.n_tokens * y_stride + 1, 1);
  const std::vector<float> before = y;
  const Product product{&matrix, y.data() + 1, y_stride, c.write};
  variant.matmul({x.data() + 1, x_stride, c.n_tokens}, {&product, 1}, c.precision, workspace, pool);
  std::vector<float> w(c.cols);
  for (std::uint32_t r = 0; r < c.rows; ++r) {
    matrix.dequantize_row(r, w);
    for (std::uint32_t t = 0; t < c.n_tokens; ++t) {
      const float* row = x.data() + 1 + t * x_stride;
      double expected = 0;
      for (std::uint32_t k = 0; k < c.cols; ++k) expected += static_cast<double>(w[k]) * static_cast<double>(row[k]);
      double allowed = tolerance(w, row, c.precision);
      const std::size_t at = 1 + t * y_stride + r;
      if (c.write == Write::kAdd) {
        expected += static_cast<double>(before[at]);
        allowed += kF32Epsilon * std::abs(expected);
      }
      ASSERT_NEAR(static_cast<double>(y[at]), expected, allowed) << "row " << r << " token " << t;
    }
  }
  // Between and behind the rows of y nothing is touched.
  for (std::size_t i = 0; i < y.size(); ++i) {
    const bool inside = i >= 1 && (i - 1) % y_stride < c.rows;
    if (!inside) ASSERT_EQ(y[i], before[i]) << "outside of y, at " << i;
  }
}

class MatmulOfVariant : public testing::TestWithParam<const KernelTable*> {};

TEST_P(MatmulOfVariant, EveryDTypeAndTokenCount) {
  for (const quant::DType dtype : kAllDTypes) {
    const std::uint32_t cols = std::max(96U, quant::block_size(dtype));
    for (const Precision precision : {Precision::kExact, Precision::kFast}) {
      for (const std::uint32_t n_tokens : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 11U, 13U}) {
        expect_close(*GetParam(), {dtype, 17, cols, n_tokens, precision});
      }
    }
  }
}

TEST_P(MatmulOfVariant, EveryRowCountAndLength) {
  for (std::uint32_t rows = 1; rows <= 17; ++rows) {
    for (const std::uint32_t n_tokens : {1U, 4U})
      expect_close(*GetParam(), {quant::DType::kQ4_1, rows, 64, n_tokens, Precision::kExact});
  }
  for (std::uint32_t cols = 1; cols <= 70; ++cols) {
    for (const quant::DType dtype : {quant::DType::kF32, quant::DType::kF16, quant::DType::kBF16}) {
      for (const std::uint32_t n_tokens : {1U, 2U, 7U})
        expect_close(*GetParam(), {dtype, 9, cols, n_tokens, Precision::kExact});
    }
  }
  // Lengths around the part of a panel that is unpacked at once (9 units).
  for (const std::uint32_t units : {8U, 9U, 10U, 18U, 19U, 48U}) {
    for (const Precision precision : {Precision::kExact, Precision::kFast}) {
      for (const std::uint32_t n_tokens : {1U, 6U}) {
        expect_close(*GetParam(), {quant::DType::kQ4_1, 16, units * 32, n_tokens, precision});
        expect_close(*GetParam(), {quant::DType::kQ8_0, 16, units * 32, n_tokens, precision});
      }
    }
  }
}

TEST_P(MatmulOfVariant, WholeBlocksOfTokens) {
  expect_close(*GetParam(), {quant::DType::kQ4_1, 24, 576, kMaxTokens, Precision::kExact});
  expect_close(*GetParam(), {quant::DType::kQ4_1, 24, 576, kMaxTokens, Precision::kFast});
  expect_close(*GetParam(), {quant::DType::kQ6_K, 24, 512, kMaxTokens - 1, Precision::kExact});
}

TEST_P(MatmulOfVariant, AddsToWhatIsThere) {
  for (const Precision precision : {Precision::kExact, Precision::kFast}) {
    for (const std::uint32_t n_tokens : {1U, 5U}) {
      expect_close(*GetParam(), {quant::DType::kQ4_1, 13, 320, n_tokens, precision, Write::kAdd});
    }
  }
}

TEST_P(MatmulOfVariant, LargeAndSmallMagnitudes) {
  for (const float scale : {1e-35F, 1e-25F, 1e-6F, 1e6F, 1e25F}) {
    for (const quant::DType dtype : {quant::DType::kQ4_1, quant::DType::kQ8_0, quant::DType::kF32}) {
      for (const Precision precision : {Precision::kExact, Precision::kFast}) {
        for (const std::uint32_t n_tokens : {1U, 4U})
          expect_close(*GetParam(), {dtype, 8, 96, n_tokens, precision, Write::kSet, scale});
      }
    }
  }
}

TEST_P(MatmulOfVariant, PassesOnWhatIsNotFinite) {
  RandomWeights random(8);
  base::ThreadPool pool(1);
  for (const quant::DType dtype : {quant::DType::kQ4_1, quant::DType::kQ8_0, quant::DType::kBF16}) {
    const PackedMatrix matrix = make_matrix(random, dtype, 8, 64, 0.02F);
    Workspace workspace = make_workspace(64, 1);
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      for (const Precision precision : {Precision::kExact, Precision::kFast}) {
        for (const std::uint32_t n_tokens : {1U, 4U}) {
          std::vector<float> x(n_tokens * 64, 1.0F);
          x[37] = bad;
          std::vector<float> y(n_tokens * 8);
          const Product product{&matrix, y.data(), 8, Write::kSet};
          GetParam()->matmul({x.data(), 64, n_tokens}, {&product, 1}, precision, workspace, pool);
          for (std::uint32_t r = 0; r < 8; ++r) EXPECT_FALSE(std::isfinite(y[r])) << quant::dtype_name(dtype);
        }
      }
    }
  }
}

TEST_P(MatmulOfVariant, OneCallForSeveralMatricesAndAnyThreadCountGiveTheSameBits) {
  RandomWeights random(9);
  const PackedMatrix q = make_matrix(random, quant::DType::kQ4_1, 72, 192, 0.02F);
  const PackedMatrix k = make_matrix(random, quant::DType::kBF16, 28, 192, 0.02F);
  const PackedMatrix v = make_matrix(random, quant::DType::kQ5_1, 40, 192, 0.02F);
  for (const Precision precision : {Precision::kExact, Precision::kFast}) {
    for (const std::uint32_t n_tokens : {1U, 2U, 23U}) {
      const std::vector<float> x = random.activations(n_tokens * 192, 1);
      std::vector<float> apart(n_tokens * 140);
      std::vector<float> together(apart.size());
      const auto products = [&](std::vector<float>& y) {
        return std::array{Product{&q, y.data(), 140, Write::kSet}, Product{&k, y.data() + 72, 140, Write::kSet},
                          Product{&v, y.data() + 100, 140, Write::kSet}};
      };
      Workspace workspace = make_workspace(192, 3);
      base::ThreadPool one(1);
      for (const Product& product : products(apart)) {
        GetParam()->matmul({x.data(), 192, n_tokens}, {&product, 1}, precision, workspace, one);
      }
      for (int n_threads = 1; n_threads <= 3; ++n_threads) {
        base::ThreadPool pool(n_threads);
        std::fill(together.begin(), together.end(), 0.0F);
        GetParam()->matmul({x.data(), 192, n_tokens}, products(together), precision, workspace, pool);
        EXPECT_EQ(together, apart) << n_threads << " threads, " << n_tokens << " tokens";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, MatmulOfVariant, testing::ValuesIn(kVariants),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(RunningVariant, IsTheOneItNames) {
#if defined(__wasm_relaxed_simd__)
  const bool fused_expected = true;
  EXPECT_EQ(variant_name(), "relaxed");
#else
  const bool fused_expected = false;
  EXPECT_EQ(variant_name(), "simd128");
#endif
  // (1 + e)² − (1 + 2e) is e² with one rounding and 0 with two.
  RandomWeights random(1);
  const float one_and = 1 + 0x1p-13F;
  std::vector<float> w = {1 + 0x1p-12F, one_and};
  std::vector<float> x = {-1, one_and};
  Result<PackedMatrix> matrix = PackedMatrix::create(quant::DType::kF32, 1, 2, "w");
  ASSERT_TRUE(matrix);
  ASSERT_TRUE(matrix->append_rows(std::as_bytes(std::span(w)), 1));
  Workspace workspace = make_workspace(2, 1);
  base::ThreadPool pool(1);
  std::vector<float> two_tokens = {x[0], x[1], x[0], x[1]};
  std::vector<float> y(2);
  const Product product{&*matrix, y.data(), 1, Write::kSet};
  matmul({two_tokens.data(), 2, 2}, {&product, 1}, Precision::kExact, workspace, pool);
  EXPECT_EQ(y[0], fused_expected ? 0x1p-26F : 0.0F);
}

}  // namespace
}  // namespace lookback::kernels
