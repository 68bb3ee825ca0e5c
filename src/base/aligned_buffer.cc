#include "base/aligned_buffer.h"

#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

namespace lookback::base {

Result<AlignedBuffer> AlignedBuffer::create(std::uint64_t n_bytes, const char* purpose) {
  AlignedBuffer buffer;
  if (n_bytes == 0) return buffer;
  // aligned_alloc wants a multiple of the alignment; half the address space is the most that pointers can span.
  const bool fits = n_bytes <= std::numeric_limits<std::size_t>::max() / 2 - kAlignment;
  if (fits) {
    const std::size_t rounded = (static_cast<std::size_t>(n_bytes) + kAlignment - 1) / kAlignment * kAlignment;
    buffer.data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
  }
  if (buffer.data_ == nullptr) {
    return Error{ErrorCode::kOutOfMemory,
                 std::string(purpose) + ": " + std::to_string(n_bytes) + " bytes could not be allocated", std::nullopt};
  }
  buffer.size_bytes_ = static_cast<std::size_t>(n_bytes);
  return buffer;
}

AlignedBuffer::~AlignedBuffer() { std::free(data_); }

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

}  // namespace lookback::base
