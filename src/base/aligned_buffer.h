// AlignedBuffer: memory for weights, caches and scratch. Allocation may fail, and says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lookback/result.h"

namespace lookback::base {

/// Owns n bytes at a 64-byte boundary, uninitialised. Moves, never copies.
class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;  // a cache line, and more than any SIMD load here needs

  AlignedBuffer() = default;
  /// Errors: out_of_memory, naming `purpose` and the size. n = 0 gives an empty buffer.
  static Result<AlignedBuffer> create(std::uint64_t n_bytes, const char* purpose);
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t size_bytes() const { return size_bytes_; }

  /// The buffer as an array of trivially copyable T.
  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data_), size_bytes_ / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_), size_bytes_ / sizeof(T)};
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace lookback::base
