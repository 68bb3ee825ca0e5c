// ThreadPool: one call that runs a loop on one thread or several. Results never depend on the number of threads: a task
// writes only what its own index owns.
#pragma once

#include <cstddef>
#include <memory>

#include "base/function_ref.h"

namespace lookback::base {

class ThreadPool {
 public:
  /// task(begin, end, thread): the part [begin, end) of the loop, on thread 0 … n_threads − 1.
  using Task = FunctionRef<void(std::size_t, std::size_t, int)>;

  /// n_threads counts the caller, so 1 starts none. Builds without threads run every loop on the caller; where a thread
  /// cannot be had, the pool goes on with fewer.
  explicit ThreadPool(int n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// How many threads really run, at least 1.
  int n_threads() const;

  /// Runs task over pieces of [0, n), each at least `grain` long but the last. Returns when all are done. A thread
  /// takes the next piece when it has finished one, so a core that is busy elsewhere does not hold up the rest. Not
  /// reentrant.
  void run(std::size_t n, std::size_t grain, Task task);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lookback::base
