#include "base/byte_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "base/checked_math.h"

namespace lookback::test {
namespace {

constexpr std::array<std::byte, 7> kBytes = {std::byte{1},   std::byte{2},   std::byte{3},  std::byte{0xFF},
                                             std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};

TEST(ByteReader, ReadsLittleEndianNumbersAndText) {
  base::ByteReader in(kBytes);
  EXPECT_EQ(in.number<std::uint8_t>(), 1);
  EXPECT_EQ(in.number<std::uint16_t>(), 0x0302);
  EXPECT_EQ(in.number<std::int8_t>(), -1);
  EXPECT_EQ(in.text(3), "abc");
  EXPECT_EQ(in.position(), 7U);
  EXPECT_EQ(in.left(), 0U);
  EXPECT_TRUE(in.ok());
}

TEST(ByteReader, StaysFailedAfterAReadPastTheEnd) {
  base::ByteReader in(kBytes);
  EXPECT_EQ(in.number<std::uint64_t>(), 0U);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.number<std::uint8_t>(), 0U);  // there are bytes, but what they would mean is unknown now
  EXPECT_EQ(in.position(), 0U);
}

TEST(ByteReader, RefusesLengthsThatWrapAround) {
  base::ByteReader in(kBytes);
  EXPECT_TRUE(in.bytes(4).size() == 4);
  EXPECT_TRUE(in.bytes(std::numeric_limits<std::uint64_t>::max()).empty());
  EXPECT_FALSE(in.ok());
}

TEST(CheckedMath, GivesNothingForAWrappedValue) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(base::checked_multiply(1ULL << 32, (1ULL << 32) - 1), kMost - (1ULL << 32) + 1);
  EXPECT_EQ(base::checked_multiply(1ULL << 32, 1ULL << 32), std::nullopt);
  EXPECT_EQ(base::checked_add(kMost, 0), kMost);
  EXPECT_EQ(base::checked_add(kMost, 1), std::nullopt);
}

}  // namespace
}  // namespace lookback::test
