// read_file: a whole file through a FileReader, in pieces of one size.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/file_reader.h"

namespace lookback::test {

/// How a file arrives.
struct Delivery {
  std::size_t piece;  ///< bytes a feed
  bool size_known;
};

/// Every way in which the tests feed a file.
inline std::vector<Delivery> deliveries() {
  constexpr std::size_t kWhole = std::size_t{1} << 30;
  return {{1, true}, {1, false}, {7, true}, {7, false}, {4096, false}, {kWhole, true}, {kWhole, false}};
}

inline Result<void> feed_in_pieces(formats::FileReader& reader, std::span<const std::byte> bytes, std::size_t piece) {
  while (!bytes.empty()) {
    const auto next = bytes.first(std::min(piece, bytes.size()));
    LOOKBACK_TRY(reader.feed(next));
    bytes = bytes.subspan(next.size());
  }
  return reader.finish();
}

/// The reader after the end of the file, or the error that stopped it.
inline Result<std::unique_ptr<formats::FileReader>> read_file(const std::string& name, std::span<const std::byte> bytes,
                                                              const Delivery& delivery, formats::TensorSink* sink) {
  const auto n_bytes = delivery.size_known ? std::optional<std::uint64_t>(bytes.size()) : std::nullopt;
  auto reader = formats::FileReader::create(name, n_bytes, sink);
  if (!reader) return reader.error();
  LOOKBACK_TRY(feed_in_pieces(**reader, bytes, delivery.piece));
  return reader;
}

}  // namespace lookback::test
