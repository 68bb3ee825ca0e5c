#include "formats/safetensors.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "formats/limits.h"
#include "formats/refusal.h"
#include "formats/safetensors_header.h"

namespace lookback::formats {

SafetensorsReader::SafetensorsReader(std::string file, std::optional<std::uint64_t> n_bytes, TensorSink* sink)
    : file_(std::move(file)), n_bytes_(n_bytes), sink_(sink), stream_(file_, sink) {}

Result<void> SafetensorsReader::feed(std::span<const std::byte> bytes) {
  while (stage_ != Stage::kData && !bytes.empty()) {
    const std::uint64_t wanted = (stage_ == Stage::kLength ? kLengthBytes : data_start()) - header_.size();
    const auto piece = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(wanted, bytes.size())));
    header_.insert(header_.end(), piece.begin(), piece.end());
    bytes = bytes.subspan(piece.size());
    if (piece.size() < wanted) return {};
    LOOKBACK_TRY(stage_ == Stage::kLength ? length_done() : header_done());
  }
  return stream_.feed(bytes);
}

Result<void> SafetensorsReader::length_done() {
  n_header_bytes_ = base::load_le<std::uint64_t>(header_.data());
  if (n_header_bytes_ == 0 || n_header_bytes_ > kMaxHeaderBytes) {
    return refuse(
        ErrorCode::kBadHeader, file_,
        "header length " + std::to_string(n_header_bytes_) + ", expected 1 to " + std::to_string(kMaxHeaderBytes), 0);
  }
  if (n_bytes_ && data_start() > *n_bytes_) {
    return refuse(
        ErrorCode::kTruncated, file_,
        "header length " + std::to_string(n_header_bytes_) + " in a file of " + std::to_string(*n_bytes_) + " bytes",
        0);
  }
  stage_ = Stage::kHeader;
  return {};
}

Result<void> SafetensorsReader::header_done() {
  const std::string_view json(reinterpret_cast<const char*>(header_.data()) + kLengthBytes,
                              static_cast<std::size_t>(n_header_bytes_));
  auto tensors = parse_safetensors_header(file_, json, kLengthBytes);
  if (!tensors) return tensors.error();
  tensors_ = std::move(*tensors);
  header_ = {};
  LOOKBACK_TRY(sort_and_check_layout(file_, tensors_, {data_start(), n_bytes_, 0}));
  if (n_bytes_) LOOKBACK_TRY(check_end(file_, tensors_, data_start(), 1, *n_bytes_));
  stage_ = Stage::kData;
  stream_.start(tensors_, data_start());
  LOOKBACK_TRY(sink_->on_metadata(metadata_));
  return sink_->on_directory(tensors_);
}

Result<void> SafetensorsReader::finish() {
  if (stage_ != Stage::kData) {
    return refuse(
        ErrorCode::kTruncated, file_,
        stage_ == Stage::kLength ? "the file ends inside the header's length" : "the file ends inside the header",
        header_.size());
  }
  LOOKBACK_TRY(stream_.finish());
  return check_end(file_, tensors_, data_start(), 1, stream_.position());
}

}  // namespace lookback::formats
