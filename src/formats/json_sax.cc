#include "formats/json_sax.h"

#include <cstddef>
#include <iterator>

namespace lookback::formats {
namespace {

/// Reads characters and leaves behind how far it came.
struct TrackingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  const char** reached;

  reference operator*() const { return *at; }
  TrackingIterator& operator++() {
    *reached = ++at;
    return *this;
  }
  TrackingIterator operator++(int) {
    const TrackingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const TrackingIterator& other) const { return at == other.at; }
};

}  // namespace

void parse_json(std::string_view text, JsonHandler& handler, const char** reached) {
  const TrackingIterator begin{text.data(), reached};
  const TrackingIterator end{text.data() + text.size(), reached};
  nlohmann::json::sax_parse(begin, end, &handler);
}

}  // namespace lookback::formats
