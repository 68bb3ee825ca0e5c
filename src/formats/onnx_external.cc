#include "formats/onnx_external.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "formats/refusal.h"

namespace lookback::formats {
namespace {

/// A file beside the model or below it, by a relative name.
bool is_safe_location(std::string_view location) {
  if (location.empty() || location.front() == '/' || location.find_first_of(":\\") != std::string_view::npos)
    return false;
  for (std::size_t at = 0; at <= location.size();) {
    const std::size_t slash = std::min(location.find('/', at), location.size());
    if (location.substr(at, slash - at) == "..") return false;
    at = slash + 1;
  }
  return true;
}

std::optional<std::uint64_t> decimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<OnnxExternalTensor> onnx_external_tensor(const OnnxExternalEntries& entries, TensorInfo tensor) {
  const auto value = [&](std::string_view key) {
    const auto found = entries.find(key);
    return found == entries.end() ? std::string() : found->second;
  };
  const std::string location = value("location");
  const std::string offset = value("offset");
  const std::string length = value("length");
  if (!is_safe_location(location)) {
    return Error{ErrorCode::kBadHeader,
                 "external data's location " + in_quotes(location) + ", expected a relative file name", std::nullopt};
  }
  const auto begin = offset.empty() ? std::optional<std::uint64_t>(0) : decimal(offset);
  const auto n_bytes = length.empty() ? std::optional(tensor.n_bytes) : decimal(length);
  if (!begin || !n_bytes) {
    return Error{ErrorCode::kBadHeader,
                 "external data's offset " + in_quotes(offset) + ", length " + in_quotes(length) + ", expected numbers",
                 std::nullopt};
  }
  tensor.offset = *begin;
  return OnnxExternalTensor{location, *n_bytes, std::move(tensor)};
}

OnnxExternalReader::OnnxExternalReader(std::string file, std::vector<TensorInfo> tensors, TensorSink* sink)
    : tensors_(std::move(tensors)), stream_(std::move(file), sink) {
  stream_.start(tensors_, 0);
}

Result<std::unique_ptr<FormatReader>> OnnxExternalReader::create(std::string file, std::optional<std::uint64_t> n_bytes,
                                                                 std::vector<TensorInfo> tensors, TensorSink* sink) {
  LOOKBACK_TRY(sort_and_check_layout(file, tensors, {0, n_bytes, std::numeric_limits<std::uint64_t>::max()}));
  return std::unique_ptr<FormatReader>(new OnnxExternalReader(std::move(file), std::move(tensors), sink));
}

}  // namespace lookback::formats
