// Every variant's small ops against the reference, at every length around the vectors and at odd addresses.
#include "kernels/ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/variants.h"
#include "tests/kernels/random_weights.h"

namespace lookback::kernels {
namespace {

constexpr float kEpsilon = 0x1p-24F;

class OpsOfVariant : public testing::TestWithParam<const KernelTable*> {
 protected:
  const KernelTable& variant = *GetParam();
};

// Lengths 1 … 70 and the model's own, each at an odd and an even address.
template <typename F>
void each_length(F&& f) {
  for (std::size_t n = 1; n <= 70; ++n) f(n, n % 4);
  for (const std::size_t n : {575U, 576U, 1536U}) f(n, 1U);
}

TEST_P(OpsOfVariant, DotStaysWithinRounding) {
  each_length([&](std::size_t n, std::size_t offset) {
    for (const float scale : {1.0F, 1e18F, 1e-18F, 1e-30F}) {
      RandomWeights random(static_cast<std::uint32_t>(n));
      const std::vector<float> a = random.activations(n + offset, scale);
      const std::vector<float> b = random.activations(n + offset, 1);
      double sum = 0;
      for (std::size_t i = offset; i < n + offset; ++i)
        sum += std::abs(static_cast<double>(a[i]) * static_cast<double>(b[i]));
      ASSERT_NEAR(static_cast<double>(variant.dot(&a[offset], &b[offset], n)),
                  static_cast<double>(kReference.dot(&a[offset], &b[offset], n)),
                  8 * static_cast<double>(kEpsilon) * sum + 1e-44 * static_cast<double>(n))
          << "n " << n << " seed " << n;
    }
  });
}

TEST_P(OpsOfVariant, AxpyAddsAndKeepsItsBounds) {
  each_length([&](std::size_t n, std::size_t offset) {
    RandomWeights random(static_cast<std::uint32_t>(n));
    const std::vector<float> x = random.activations(n + offset, 1);
    std::vector<float> y = random.activations(n + offset + 1, 1);
    std::vector<float> expected = y;
    kReference.axpy(0.37F, &x[offset], &expected[offset], n);
    variant.axpy(0.37F, &x[offset], &y[offset], n);
    for (std::size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(y[i], expected[i], 4 * kEpsilon * (std::abs(expected[i]) + 1)) << "n " << n << " at " << i;
    }
  });
}

TEST_P(OpsOfVariant, RmsNorm) {
  each_length([&](std::size_t n, std::size_t offset) {
    for (const float scale : {1.0F, 1e15F, 1e-15F, 0.0F}) {
      RandomWeights random(static_cast<std::uint32_t>(n));
      const std::vector<float> x = random.activations(n + offset, scale);
      const std::vector<float> w = random.activations(n, 1);
      std::vector<float> y(n + 1, 3.0F);
      std::vector<float> expected(n + 1, 3.0F);
      kReference.rms_norm(&x[offset], w.data(), 1e-5F, expected.data(), n);
      variant.rms_norm(&x[offset], w.data(), 1e-5F, y.data(), n);
      for (std::size_t i = 0; i <= n; ++i)
        ASSERT_NEAR(y[i], expected[i], 8 * kEpsilon * std::abs(expected[i]) + 1e-40F) << "n " << n << " at " << i;
      // y may be x.
      std::vector<float> in_place(x.begin() + static_cast<std::ptrdiff_t>(offset), x.end());
      variant.rms_norm(in_place.data(), w.data(), 1e-5F, in_place.data(), n);
      y.pop_back();
      EXPECT_EQ(in_place, y);
    }
  });
}

TEST_P(OpsOfVariant, SiluMul) {
  each_length([&](std::size_t n, std::size_t offset) {
    for (const float scale : {1.0F, 40.0F, 1e4F, 1e30F}) {
      RandomWeights random(static_cast<std::uint32_t>(n));
      std::vector<float> gate = random.activations(n + offset, scale);
      const std::vector<float> up = random.activations(n + offset, 1);
      std::vector<float> y(n + 1, 3.0F);
      std::vector<float> expected(n + 1, 3.0F);
      kReference.silu_mul(&gate[offset], &up[offset], expected.data(), n);
      variant.silu_mul(&gate[offset], &up[offset], y.data(), n);
      // exp stops at 88, so far down the tail 1e-37 · gate · up takes the place of something smaller still.
      for (std::size_t i = 0; i <= n; ++i) {
        const float tail = i < n ? 1e-37F * std::abs(gate[offset + i] * up[offset + i]) : 0.0F;
        ASSERT_NEAR(y[i], expected[i], 8 * kEpsilon * std::abs(expected[i]) + tail + 1e-37F)
            << "n " << n << " at " << i;
      }
    }
  });
}

TEST_P(OpsOfVariant, SoftmaxSumsToOne) {
  each_length([&](std::size_t n, std::size_t offset) {
    for (const float scale : {1.0F, 30.0F, 1000.0F}) {
      RandomWeights random(static_cast<std::uint32_t>(n));
      std::vector<float> x(n + offset);
      for (float& value : x) value = random.normal(scale);
      if (n > 3) x[offset + 2] = -std::numeric_limits<float>::infinity();
      std::vector<float> y(n + 1, 3.0F);
      std::vector<float> expected(n + 1, 3.0F);
      kReference.softmax(&x[offset], expected.data(), n);
      variant.softmax(&x[offset], y.data(), n);
      const float top = *std::max_element(x.begin() + static_cast<std::ptrdiff_t>(offset), x.end());
      for (std::size_t i = 0; i < n; ++i) {
        // x − top is rounded, and exp makes that an error relative to the share.
        const float exponent = std::min(top - x[offset + i], 100.0F);
        ASSERT_NEAR(y[i], expected[i], (8 + exponent) * kEpsilon * expected[i] + 1e-37F) << "n " << n << " at " << i;
      }
      EXPECT_EQ(y[n], 3.0F);
      EXPECT_NEAR(std::accumulate(y.begin(), y.end() - 1, 0.0), 1, 1e-6);
      if (n > 3) EXPECT_EQ(y[2], 0.0F);
    }
  });
}

TEST_P(OpsOfVariant, RopeOfBothPairings) {
  for (const std::uint32_t head_dim : {2U, 4U, 6U, 8U, 12U, 16U, 64U, 80U}) {
    for (const RopePairing pairing : {RopePairing::kNeighbours, RopePairing::kHalves}) {
      RandomWeights random(head_dim);
      std::vector<float> table(head_dim);
      rope_table(10000, head_dim, 1234, 1, table);
      std::vector<float> x(3 * head_dim + 2);
      for (float& value : x) value = random.normal(1);
      std::vector<float> expected = x;
      kReference.rope(&expected[1], table.data(), 3, head_dim, pairing);
      variant.rope(&x[1], table.data(), 3, head_dim, pairing);
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_NEAR(x[i], expected[i], 16 * kEpsilon) << "head_dim " << head_dim << " at " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, OpsOfVariant, testing::ValuesIn(kVariants),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(Rope, TableHoldsTheAnglesOfItsPositions) {
  constexpr std::uint32_t kHeadDim = 64;
  std::vector<float> table(3 * kHeadDim);
  rope_table(100000, kHeadDim, 8190, 3, table);
  for (std::uint32_t p = 0; p < 3; ++p) {
    for (std::uint32_t i = 0; i < kHeadDim / 2; ++i) {
      const double angle = (8190 + p) * std::pow(100000, -2.0 * i / kHeadDim);
      EXPECT_NEAR(table[p * kHeadDim + 2 * i], std::cos(angle), 1e-7);
      EXPECT_NEAR(table[p * kHeadDim + 2 * i + 1], std::sin(angle), 1e-7);
    }
  }
}

TEST(Rope, PairingsAreOnePermutationApart) {
  constexpr std::uint32_t kHeadDim = 64;
  std::vector<float> table(kHeadDim);
  rope_table(100000, kHeadDim, 77, 1, table);
  RandomWeights random(2);
  std::vector<float> neighbours(kHeadDim);
  for (float& value : neighbours) value = random.normal(1);
  std::vector<float> halves(kHeadDim);
  const auto permuted = [](std::uint32_t i) { return i % 2 == 0 ? i / 2 : i / 2 + kHeadDim / 2; };
  for (std::uint32_t i = 0; i < kHeadDim; ++i) halves[permuted(i)] = neighbours[i];
  base::ThreadPool pool(1);
  rope({neighbours.data(), kHeadDim}, 1, 1, kHeadDim, table, RopePairing::kNeighbours, pool);
  rope({halves.data(), kHeadDim}, 1, 1, kHeadDim, table, RopePairing::kHalves, pool);
  for (std::uint32_t i = 0; i < kHeadDim; ++i) EXPECT_NEAR(neighbours[i], halves[permuted(i)], 1e-6F);
}

TEST(Rows, GoThroughThePoolWithTheirStrides) {
  constexpr std::uint32_t kRows = 37;
  constexpr std::uint32_t kCols = 130;
  constexpr std::size_t kStride = kCols + 3;
  RandomWeights random(11);
  const std::vector<float> x = random.activations(kRows * kStride, 1);
  const std::vector<float> w = random.activations(kCols, 1);
  std::vector<float> table(kRows * kCols);
  rope_table(10000, kCols, 5, kRows, table);
  std::vector<std::vector<float>> results;
  for (const int n_threads : {1, 3}) {
    base::ThreadPool pool(n_threads);
    std::vector<float> y(x.size(), 9.0F);
    rms_norm({x.data(), kStride}, w, 1e-5F, {y.data(), kStride}, kRows, pool);
    for (std::uint32_t r = 0; r < kRows; ++r) {
      std::vector<float> row(kCols);
      kRunning->rms_norm(&x[r * kStride], w.data(), 1e-5F, row.data(), kCols);
      EXPECT_TRUE(std::equal(row.begin(), row.end(), y.begin() + static_cast<std::ptrdiff_t>(r * kStride)));
      EXPECT_EQ(y[r * kStride + kCols], 9.0F);
    }
    rope({y.data(), kStride}, kRows, 1, kCols, table, RopePairing::kHalves, pool);
    silu_mul({y.data(), kStride}, {x.data(), kStride}, {y.data(), kStride}, kRows, kCols, pool);
    add({x.data(), kStride}, {y.data(), kStride}, kRows, kCols, pool);
    EXPECT_EQ(y[kCols], 9.0F);
    results.push_back(y);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(AllFinite, SeesEveryPlace) {
  for (std::size_t n = 0; n <= 20; ++n) {
    std::vector<float> x(n, -std::numeric_limits<float>::max());
    EXPECT_TRUE(all_finite(x));
    for (std::size_t i = 0; i < n; ++i) {
      for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()}) {
        std::vector<float> y = x;
        y[i] = bad;
        EXPECT_FALSE(all_finite(y)) << n << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace lookback::kernels
