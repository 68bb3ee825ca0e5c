// The pool runs every index once, on threads it owns, loop after loop, also when its threads have gone to sleep.
#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace lookback::base {
namespace {

TEST(ThreadPool, RunsEveryIndexOnce) {
  for (int n_threads = 1; n_threads <= 4; ++n_threads) {
    ThreadPool pool(n_threads);
    ASSERT_GE(pool.n_threads(), 1);
    ASSERT_LE(pool.n_threads(), n_threads);
    for (const std::size_t n : {0U, 1U, 2U, 3U, 7U, 64U, 1001U}) {
      for (const std::size_t grain : {1U, 4U, 2000U}) {
        std::vector<std::atomic<int>> seen(n);
        pool.run(n, grain, [&](std::size_t begin, std::size_t end, int thread) {
          EXPECT_LT(begin, end);
          EXPECT_LE(end, n);
          EXPECT_TRUE(end - begin >= grain || end == n);
          EXPECT_GE(thread, 0);
          EXPECT_LT(thread, pool.n_threads());
          for (std::size_t i = begin; i < end; ++i) ++seen[i];
        });
        for (const std::atomic<int>& count : seen)
          ASSERT_EQ(count, 1) << n_threads << " threads, n " << n << ", grain " << grain;
      }
    }
  }
}

TEST(ThreadPool, EachThreadIsInOnePieceAtATime) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> inside(4);
  pool.run(500, 1, [&](std::size_t, std::size_t, int thread) {
    EXPECT_EQ(++inside[static_cast<std::size_t>(thread)], 1);
    --inside[static_cast<std::size_t>(thread)];
  });
}

TEST(ThreadPool, ManyShortLoopsSeeEachOthersWrites) {
  ThreadPool pool(3);
  std::vector<int> values(100, 0);
  std::vector<int> next(100, 0);
  for (int round = 0; round < 3000; ++round) {
    pool.run(values.size(), 5, [&](std::size_t begin, std::size_t end, int) {
      for (std::size_t i = begin; i < end; ++i) next[i] = values[values.size() - 1 - i] + 1;
    });
    values.swap(next);
    ASSERT_EQ(values, std::vector<int>(100, round + 1));
  }
}

TEST(ThreadPool, WakesThreadsThatSleep) {
  ThreadPool pool(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // far longer than threads spin
    std::atomic<int> sum = 0;
    pool.run(100, 1, [&](std::size_t begin, std::size_t end, int) { sum += static_cast<int>(end - begin); });
    ASSERT_EQ(sum, 100);
  }
}

#if !defined(__EMSCRIPTEN__) || defined(__EMSCRIPTEN_PTHREADS__)
TEST(ThreadPool, ReallyHasTheThreadsItNames) {
  ThreadPool pool(3);
  ASSERT_EQ(pool.n_threads(), 3);
  // Each piece waits until all three threads are in one: only possible when all run at the same time.
  std::atomic<int> arrived = 0;
  std::atomic<bool> late = false;
  pool.run(3, 1, [&](std::size_t, std::size_t, int) {
    ++arrived;
    const auto start = std::chrono::steady_clock::now();
    while (arrived < 3 && !late) late = std::chrono::steady_clock::now() - start > std::chrono::seconds(30);
  });
  EXPECT_FALSE(late);
}
#else
TEST(ThreadPool, BuildsWithoutThreadsRunOnTheCaller) {
  ThreadPool pool(3);
  EXPECT_EQ(pool.n_threads(), 1);
}
#endif

}  // namespace
}  // namespace lookback::base
