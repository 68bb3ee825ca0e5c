// The one place where nlohmann's JSON parser is compiled: events, never a document tree. A tree would hide names that
// stand twice, and its code would be a tenth of the download.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace lookback::formats {

/// What receives the events of a text; each returns false to stop.
using JsonHandler = nlohmann::json_sax<nlohmann::json>;

/// Reads text and tells handler. *reached moves on with every character, so that handler can say where it stands.
void parse_json(std::string_view text, JsonHandler& handler, const char** reached);

}  // namespace lookback::formats
