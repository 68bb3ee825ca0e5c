// ThreadPool: one call that runs a loop on one thread or several. Results never depend on the number of threads:
// a task writes only what its own index owns.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace lookback::base {

class ThreadPool {
 public:
  /// n_threads counts the caller, so 1 starts none. Builds without threads run every loop on the caller.
  explicit ThreadPool(int n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// How many threads really run, at least 1.
  int n_threads() const;

  /// Runs task(begin, end, thread) over pieces of [0, n), each at least `grain` long but the last. Returns when all are done.
  /// thread < n_threads(), so that scratch can be kept per thread. Not reentrant.
  void run(std::size_t n, std::size_t grain, const std::function<void(std::size_t, std::size_t, int)>& task);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lookback::base
