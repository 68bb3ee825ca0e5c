#include "base/aligned_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace lookback::test {
namespace {

TEST(AlignedBuffer, BeginsAtACacheLine) {
  for (const std::uint64_t n : {1U, 63U, 64U, 65U, 100'000U}) {
    auto buffer = base::AlignedBuffer::create(n, "test");
    ASSERT_TRUE(buffer.has_value()) << n;
    EXPECT_EQ(buffer->size_bytes(), n);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % base::AlignedBuffer::kAlignment, 0U) << n;
    buffer->data()[n - 1] = std::byte{1};  // the sanitizer sees a buffer that is too short
  }
  const auto empty = base::AlignedBuffer::create(0, "test");
  ASSERT_TRUE(empty.has_value());
  EXPECT_EQ(empty->data(), nullptr);
}

TEST(AlignedBuffer, ThatIsTooLargeIsAnErrorNotACrash) {
  for (const std::uint64_t n : {std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{0} - 10}) {
    const auto buffer = base::AlignedBuffer::create(n, "the key/value cache");
    ASSERT_FALSE(buffer.has_value()) << n;
    EXPECT_EQ(buffer.error().code, ErrorCode::kOutOfMemory);
    EXPECT_NE(buffer.error().message.find("the key/value cache: " + std::to_string(n)), std::string::npos)
        << buffer.error().message;
  }
}

TEST(AlignedBuffer, MovesWithoutCopying) {
  auto first = base::AlignedBuffer::create(64, "test");
  ASSERT_TRUE(first.has_value());
  first->as<std::uint32_t>()[15] = 7;
  const std::byte* data = first->data();
  base::AlignedBuffer second = std::move(*first);
  EXPECT_EQ(second.data(), data);
  base::AlignedBuffer third;
  third = std::move(second);
  EXPECT_EQ(third.as<std::uint32_t>().size(), 16U);
  EXPECT_EQ(third.as<std::uint32_t>()[15], 7U);
  EXPECT_EQ(second.data(), nullptr);
}

}  // namespace
}  // namespace lookback::test
