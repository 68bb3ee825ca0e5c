#include "formats/refusal.h"

#include <cstdio>

namespace lookback::formats {

std::string in_quotes(std::string_view name) {
  constexpr std::size_t kLongest = 80;
  std::string text = "\"";
  for (const char c : name.substr(0, kLongest)) {
    if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      char escape[5];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      text += escape;
    }
  }
  return text + (name.size() > kLongest ? "…\"" : "\"");
}

}  // namespace lookback::formats
