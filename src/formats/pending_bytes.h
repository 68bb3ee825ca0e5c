// PendingBytes: the part of a stream that was received but not yet understood, and where in the file it lies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_reader.h"

namespace lookback::formats {

/// A parser appends what arrives, reads one item from reader(), and consumes it, or leaves it for when more has come. Holds
/// at most one unfinished item and one piece.
class PendingBytes {
 public:
  /// Takes up to a piece off the front of `bytes`.
  void append_from(std::span<const std::byte>& bytes) {
    const auto piece = bytes.first(std::min(bytes.size(), kPieceBytes));
    bytes_.insert(bytes_.end(), piece.begin(), piece.end());
    bytes = bytes.subspan(piece.size());
  }

  base::ByteReader reader() const { return base::ByteReader(unread()); }
  std::span<const std::byte> unread() const { return std::span(bytes_).subspan(n_consumed_); }
  void consume(std::size_t n) { n_consumed_ += n; }

  /// Frees what was consumed; a parser calls it when it waits for more.
  void compact() {
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(n_consumed_));
    base_offset_ += n_consumed_;
    n_consumed_ = 0;
  }

  /// Counts bytes that went past without being kept; nothing may be unread.
  void pass_by(std::size_t n) { base_offset_ += n; }

  /// File offset of the first unread byte.
  std::uint64_t offset() const { return base_offset_ + n_consumed_; }

 private:
  static constexpr std::size_t kPieceBytes = 16384;

  std::vector<std::byte> bytes_;
  std::size_t n_consumed_ = 0;
  std::uint64_t base_offset_ = 0;
};

}  // namespace lookback::formats
