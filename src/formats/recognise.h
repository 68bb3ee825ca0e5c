// recognise: which format a file is in, by its first bytes, and what else it looks like when it is none.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "formats/file_reader.h"

namespace lookback::formats {

/// Bytes that decide the format, and bytes from which a good message about another kind of file is made.
inline constexpr std::size_t kDecidingBytes = 9;
inline constexpr std::size_t kDescribingBytes = 512;

/// start: the first kDecidingBytes, or the whole of a shorter file.
std::optional<Format> recognise(std::string_view name, std::span<const std::byte> start);

/// For the message of bad_magic, e.g. "this is a git-lfs pointer, not the model itself; …". start: up to kDescribingBytes.
std::string describe_other(std::span<const std::byte> start);

}  // namespace lookback::formats
