// refuse: the one way in which a reader says no, so that every message names the file, the field and the position.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lookback/result.h"

namespace lookback::formats {

/// "FILE: what (at byte N)"
inline Error refuse(ErrorCode code, std::string_view file, std::string_view what,
                    std::optional<std::uint64_t> offset = std::nullopt) {
  std::string message = std::string(file) + ": " + std::string(what);
  if (offset) message += " (at byte " + std::to_string(*offset) + ")";
  return {code, std::move(message), offset};
}

/// A name out of a file, fit for a message: quotes around it, bytes other than printable ASCII as \xNN, cut after 80.
std::string in_quotes(std::string_view name);

/// "[32, 16]"
template <typename Numbers>
std::string shape_text(const Numbers& shape) {
  std::string text = "[";
  for (const auto n : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
  return text + "]";
}

}  // namespace lookback::formats
