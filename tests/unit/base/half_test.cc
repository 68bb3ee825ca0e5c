#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lookback::test {
namespace {

TEST(F16, EveryValueIsExactAndComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = base::f16_to_f32(half);
    const std::uint32_t exponent = (bits >> 10) & 31;
    const std::uint32_t fraction = bits & 1023;
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(base::f16_to_f32(base::f32_to_f16(value)))) << bits;
      continue;
    }
    const double expected = exponent == 31  ? sign * std::numeric_limits<double>::infinity()
                            : exponent == 0 ? sign * std::ldexp(fraction, -24)
                                            : sign * std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
    ASSERT_EQ(double{value}, expected) << bits;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
    ASSERT_EQ(base::f32_to_f16(value), half) << bits;
  }
}

TEST(F16, RoundsToNearestAndTiesToEven) {
  // Between each two neighbours: just below the middle, the middle, just above it.
  for (std::uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits);
    const auto high = static_cast<std::uint16_t>(bits + 1);
    const float middle = (base::f16_to_f32(low) + base::f16_to_f32(high)) / 2;  // exact: 11 bits of 24
    ASSERT_EQ(base::f32_to_f16(std::nextafter(middle, 0.0F)), low) << bits;
    ASSERT_EQ(base::f32_to_f16(std::nextafter(middle, 1e9F)), high) << bits;
    ASSERT_EQ(base::f32_to_f16(middle), bits % 2 == 0 ? low : high) << bits;
    ASSERT_EQ(base::f32_to_f16(-middle), (bits % 2 == 0 ? low : high) | 0x8000) << bits;
  }
  EXPECT_EQ(base::f32_to_f16(65519.99F), 0x7BFF);
  EXPECT_EQ(base::f32_to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(base::f32_to_f16(1e30F), 0x7C00);
  EXPECT_EQ(base::f32_to_f16(1e-30F), 0);
}

TEST(Bf16, IsTheUpperHalfOfF32) {
  EXPECT_EQ(base::bf16_to_f32(0x3F80), 1.0F);
  EXPECT_EQ(base::bf16_to_f32(0xC2F7), -123.5F);
  EXPECT_EQ(base::f32_to_bf16(-123.5F), 0xC2F7);
  EXPECT_EQ(base::f32_to_bf16(std::bit_cast<float>(0x3F808000U)), 0x3F80);  // a tie, to even
  EXPECT_EQ(base::f32_to_bf16(std::bit_cast<float>(0x3F818000U)), 0x3F82);
  EXPECT_EQ(base::f32_to_bf16(std::bit_cast<float>(0x3F808001U)), 0x3F81);
  EXPECT_EQ(base::f32_to_bf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_TRUE(std::isnan(base::bf16_to_f32(base::f32_to_bf16(std::bit_cast<float>(0x7F800001U)))));
}

}  // namespace
}  // namespace lookback::test
