#include "tests/support/allocation_meter.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> live_bytes = 0;
std::atomic<std::size_t> peak_live_bytes = 0;

// Each block begins with its size; 16 bytes keep the alignment that operator new promises.
constexpr std::size_t kPrefixBytes = 16;

}  // namespace

void* operator new(std::size_t n) {
  auto* block = static_cast<char*>(std::malloc(n + kPrefixBytes));
  if (block == nullptr) std::abort();
  *reinterpret_cast<std::size_t*>(block) = n;
  const std::size_t now = live_bytes += n;
  peak_live_bytes = std::max(peak_live_bytes.load(), now);
  return block + kPrefixBytes;
}

// Only these two make blocks: new[] and delete[] end here, unless a sanitizer has pairs of its own.
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return operator new(n); }

void operator delete(void* pointer) noexcept {
  if (pointer == nullptr) return;
  char* block = static_cast<char*>(pointer) - kPrefixBytes;
  live_bytes -= *reinterpret_cast<std::size_t*>(block);
  std::free(block);
}

void operator delete(void* pointer, std::size_t) noexcept { operator delete(pointer); }
void operator delete(void* pointer, const std::nothrow_t&) noexcept { operator delete(pointer); }

namespace lookback::test {

AllocationMeter::AllocationMeter() : start_(live_bytes) { peak_live_bytes = start_; }

std::size_t AllocationMeter::peak_bytes() const { return peak_live_bytes - start_; }

}  // namespace lookback::test
