#include "base/parallel.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

// Natively always; in wasm only in -pthread builds.
#if !defined(__EMSCRIPTEN__) || defined(__EMSCRIPTEN_PTHREADS__)
#define LOOKBACK_HAS_THREADS 1
#include <pthread.h>

#include <atomic>
#include <chrono>
#else
#define LOOKBACK_HAS_THREADS 0
#endif

namespace lookback::base {

#if LOOKBACK_HAS_THREADS

namespace {

// Inside a pass the next loop comes within microseconds, and waking a sleeping thread costs tens of them (a futex round
// trip in a browser: 43 µs, a spinning barrier 0.3 µs). So threads spin this long before they sleep.
constexpr std::chrono::microseconds kSpin{400};
constexpr int kSpinsPerClockRead = 2000;
// Pieces a thread: enough to even out cores that are busy elsewhere, few enough that taking one costs nothing.
constexpr std::size_t kPiecesPerThread = 4;

#ifdef __EMSCRIPTEN__
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  __builtin_wasm_memory_atomic_wait32(reinterpret_cast<std::int32_t*>(&word), static_cast<std::int32_t>(seen), -1);
}
void wake_all(std::atomic<std::uint32_t>& word) {
  __builtin_wasm_memory_atomic_notify(reinterpret_cast<std::int32_t*>(&word), ~0U);
}
void relax() {}
#else
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t seen) { word.wait(seen); }
void wake_all(std::atomic<std::uint32_t>& word) { word.notify_all(); }
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
#endif

// Returns once word is no longer `seen`.
void wait_for_change(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  auto start = std::chrono::steady_clock::now();
  for (int spins = 0; word.load(std::memory_order_acquire) == seen; ++spins) {
    relax();
    if (spins < kSpinsPerClockRead) continue;
    spins = 0;
    if (std::chrono::steady_clock::now() - start < kSpin) continue;
    while (word.load(std::memory_order_acquire) == seen) sleep_while(word, seen);
    return;
  }
}

}  // namespace

struct ThreadPool::State {
  struct Worker {
    State* state;
    int thread;
    pthread_t handle;
  };

  // One loop at a time. A new value of `generation` starts it; the thread that finishes last changes `finished`.
  alignas(64) std::atomic<std::uint32_t> generation{0};
  alignas(64) std::atomic<std::size_t> next{0};
  alignas(64) std::atomic<int> running{0};
  std::atomic<std::uint32_t> finished{0};
  alignas(64) std::size_t n = 0;
  std::size_t piece = 1;
  const Task* task = nullptr;
  bool stop = false;
  std::vector<std::unique_ptr<Worker>> workers;

  void work(int thread) {
    for (;;) {
      const std::size_t begin = next.fetch_add(piece, std::memory_order_relaxed);
      if (begin >= n) return;
      (*task)(begin, std::min(begin + piece, n), thread);
    }
  }

  static void* worker_main(void* argument) {
    const Worker& worker = *static_cast<Worker*>(argument);
    State& state = *worker.state;
    std::uint32_t seen = 0;
    for (;;) {
      wait_for_change(state.generation, seen);
      ++seen;  // loops are not reentrant and each waits for every worker, so none is missed
      if (state.stop) return nullptr;
      state.work(worker.thread);
      if (state.running.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        state.finished.store(seen, std::memory_order_release);
        wake_all(state.finished);
      }
    }
  }

  void start() {
    generation.fetch_add(1, std::memory_order_release);
    wake_all(generation);
  }
};

ThreadPool::ThreadPool(int n_threads) : state_(std::make_unique<State>()) {
  CHECK(n_threads >= 1, "a pool has at least the calling thread");
  for (int thread = 1; thread < n_threads; ++thread) {
    auto worker = std::make_unique<State::Worker>(State::Worker{state_.get(), thread, pthread_t{}});
    if (pthread_create(&worker->handle, nullptr, &State::worker_main, worker.get()) != 0) break;
    state_->workers.push_back(std::move(worker));
  }
}

ThreadPool::~ThreadPool() {
  state_->stop = true;
  state_->start();
  for (const auto& worker : state_->workers) pthread_join(worker->handle, nullptr);
}

int ThreadPool::n_threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::run(std::size_t n, std::size_t grain, Task task) {
  if (n == 0) return;
  State& state = *state_;
  const std::size_t n_workers = state.workers.size();
  if (n_workers == 0 || n <= grain) {
    task(0, n, 0);
    return;
  }
  const std::size_t pieces = (n_workers + 1) * kPiecesPerThread;
  state.n = n;
  state.piece = std::max(std::max<std::size_t>(grain, 1), (n + pieces - 1) / pieces);
  state.task = &task;
  state.next.store(0, std::memory_order_relaxed);
  state.running.store(static_cast<int>(n_workers), std::memory_order_relaxed);
  const std::uint32_t before = state.finished.load(std::memory_order_relaxed);
  state.start();
  state.work(0);
  wait_for_change(state.finished, before);
}

#else

struct ThreadPool::State {};

ThreadPool::ThreadPool(int n_threads) { CHECK(n_threads >= 1, "a pool has at least the calling thread"); }
ThreadPool::~ThreadPool() = default;
int ThreadPool::n_threads() const { return 1; }
void ThreadPool::run(std::size_t n, std::size_t /*grain*/, Task task) {
  if (n > 0) task(0, n, 0);
}

#endif

}  // namespace lookback::base
