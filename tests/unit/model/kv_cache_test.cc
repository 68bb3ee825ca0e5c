#include "model/kv_cache.h"

#include <gtest/gtest.h>

namespace lookback::test {
namespace {

using model::KvCache;

constexpr KvCache::Shape kShape{.n_layer = 2, .n_head = 4, .n_kv_head = 2, .head_dim = 8, .n_embd = 16, .n_stream = 2};

/// Appends n positions and writes `mark` into one number of each kind.
void append(KvCache& cache, std::uint32_t n, float mark) {
  const std::uint32_t first = cache.length();
  ASSERT_TRUE(cache.append(n).has_value());
  for (std::uint32_t pos = first; pos < first + n; ++pos) {
    cache.k(1, 1, pos)[7] = mark;
    cache.v(1, 1, pos)[7] = mark + 1;
    cache.q(1, 3, pos)[7] = mark + 2;
    cache.hidden(pos)[15] = mark + 3;
    cache.stream(0, pos)[0] = mark + 4;
  }
}

void expect_marks(const KvCache& cache, std::uint32_t first, std::uint32_t last, float mark) {
  for (std::uint32_t pos = first; pos < last; ++pos) {
    EXPECT_EQ(cache.k(1, 1, pos)[7], mark) << pos;
    EXPECT_EQ(cache.v(1, 1, pos)[7], mark + 1) << pos;
    EXPECT_EQ(cache.q(1, 3, pos)[7], mark + 2) << pos;
    EXPECT_EQ(cache.hidden(pos)[15], mark + 3) << pos;
    EXPECT_EQ(cache.stream(0, pos)[0], mark + 4) << pos;
  }
}

TEST(KvCache, KindsOfNumbersDoNotOverlap) {
  KvCache cache(kShape);
  ASSERT_TRUE(cache.append(70).has_value());
  float next = 0;
  const auto each = [&](auto&& visit) {
    for (std::uint32_t pos : {0u, 63u, 64u, 69u}) {
      for (std::uint32_t layer = 0; layer < 2; ++layer) {
        for (std::uint32_t i = 0; i < 8; ++i) {
          for (std::uint32_t head = 0; head < 2; ++head) visit(cache.k(layer, head, pos)[i]);
          for (std::uint32_t head = 0; head < 2; ++head) visit(cache.v(layer, head, pos)[i]);
          for (std::uint32_t head = 0; head < 4; ++head) visit(cache.q(layer, head, pos)[i]);
        }
      }
      for (std::uint32_t i = 0; i < 16; ++i) {
        visit(cache.stream(0, pos)[i]);
        visit(cache.hidden(pos)[i]);
      }
    }
  };
  each([&](float& value) { value = next++; });
  next = 0;
  each([&](float& value) { EXPECT_EQ(value, next++); });
}

TEST(KvCache, PagesPointAtTheirLayer) {
  KvCache cache(kShape);
  ASSERT_TRUE(cache.append(130).has_value());
  const auto k = cache.k_pages(1);
  ASSERT_EQ(k.size(), 3u);
  EXPECT_EQ(k[2], cache.k(1, 0, 128));
  EXPECT_EQ(k[0] + 64 * 8, cache.k(1, 1, 0));  // [n_kv_head, kPagePositions, head_dim]
  EXPECT_EQ(cache.v_pages(0)[1], cache.v(0, 0, 64));
}

TEST(KvCache, AForkSharesAndTheFirstToAppendStaysInPlace) {
  KvCache cache(kShape);
  append(cache, 70, 10);
  KvCache fork = cache.fork(70);
  EXPECT_EQ(fork.k(0, 0, 3), cache.k(0, 0, 3));
  append(fork, 5, 20);
  EXPECT_EQ(fork.k(0, 0, 69), cache.k(0, 0, 69));  // still one page
  append(cache, 5, 30);                            // the other finds the page's end taken
  EXPECT_NE(fork.k(0, 0, 69), cache.k(0, 0, 69));
  EXPECT_EQ(fork.k(0, 0, 63), cache.k(0, 0, 63));
  expect_marks(fork, 0, 70, 10);
  expect_marks(fork, 70, 75, 20);
  expect_marks(cache, 0, 70, 10);
  expect_marks(cache, 70, 75, 30);
}

TEST(KvCache, AShorterForkCopiesThePartialPage) {
  KvCache cache(kShape);
  append(cache, 40, 10);
  KvCache fork = cache.fork(30);
  append(fork, 40, 20);
  expect_marks(cache, 0, 40, 10);
  expect_marks(fork, 0, 30, 10);
  expect_marks(fork, 30, 70, 20);
}

TEST(KvCache, AForkOutlivesItsOrigin) {
  auto cache = std::make_unique<KvCache>(kShape);
  append(*cache, 40, 10);
  KvCache fork = cache->fork(30);
  const float* place = fork.k(0, 0, 29);
  cache.reset();
  append(fork, 3, 20);
  EXPECT_EQ(fork.k(0, 0, 29), place);  // alone with its page: nothing to copy
  expect_marks(fork, 0, 30, 10);
  expect_marks(fork, 30, 33, 20);
}

TEST(KvCache, CopiesWhatLiesBelowALayer) {
  KvCache from(kShape);
  append(from, 150, 10);
  KvCache to(kShape);
  append(to, 150, 20);
  for (std::uint32_t pos = 0; pos < 150; ++pos) {
    from.k(0, 1, pos)[3] = from.v(0, 0, pos)[3] = from.q(0, 3, pos)[3] = static_cast<float>(pos);
  }
  to.copy_lower(from, 60, 80, 1, 1);
  for (std::uint32_t pos = 60; pos < 140; ++pos) {
    EXPECT_EQ(to.k(0, 1, pos)[3], static_cast<float>(pos));
    EXPECT_EQ(to.v(0, 0, pos)[3], static_cast<float>(pos));
    EXPECT_EQ(to.q(0, 3, pos)[3], static_cast<float>(pos));
    EXPECT_EQ(to.stream(0, pos)[0], 14);
    EXPECT_EQ(to.k(1, 1, pos)[7], 20);  // a higher layer
    EXPECT_EQ(to.q(1, 3, pos)[7], 22);
    EXPECT_EQ(to.hidden(pos)[15], 23);  // a higher stream
  }
  expect_marks(to, 0, 60, 20);
  expect_marks(to, 140, 150, 20);
}

TEST(KvCache, CountsItsPages) {
  KvCache cache(kShape);
  EXPECT_EQ(cache.n_bytes(), 0u);
  ASSERT_TRUE(cache.append(65).has_value());
  // k, v [2 layers, 2 heads], q [2, 4], each [64, 8], and two streams [64, 16]
  EXPECT_EQ(cache.n_bytes(), 2u * 4 * 64 * ((2 * 2 + 2 * 2 + 2 * 4) * 8 + 2 * 16));
}

}  // namespace
}  // namespace lookback::test
