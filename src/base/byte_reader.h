// ByteReader: little-endian numbers and strings out of bytes that may end too early.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace lookback::base {

/// Little-endian T at p, any alignment.
template <typename T>
  requires(std::integral<T> || std::floating_point<T>)
T load_le(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));  // every target here is little-endian
  return value;
}

/// Reads forward through bytes. A read past the end gives 0 (or nothing) and clears ok(), which stays cleared: so a
/// whole record can be read first and ok() asked once.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  std::size_t position() const { return position_; }
  std::size_t left() const { return bytes_.size() - position_; }

  template <typename T>
  T number() {
    const std::span<const std::byte> raw = bytes(sizeof(T));
    return ok_ ? load_le<T>(raw.data()) : T{};
  }

  std::span<const std::byte> bytes(std::uint64_t n) {
    if (!ok_ || n > left()) {
      ok_ = false;
      return {};
    }
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(n));
    position_ += taken.size();
    return taken;
  }

  std::string_view text(std::uint64_t n) {
    const std::span<const std::byte> raw = bytes(n);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace lookback::base
