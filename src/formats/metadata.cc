#include "formats/metadata.h"

#include <limits>

namespace lookback::formats {
namespace {

Error missing(std::string_view key) {
  return {ErrorCode::kMissingMetadata, "metadata key " + std::string(key) + " is absent", std::nullopt};
}

Error wrong_kind(std::string_view key, std::string_view expected) {
  return {ErrorCode::kBadHeader, "metadata key " + std::string(key) + ": expected " + std::string(expected),
          std::nullopt};
}

}  // namespace

void StringBlob::append(std::string_view text) {
  const auto n = static_cast<std::uint32_t>(text.size());
  for (int shift = 0; shift < 32; shift += 8) bytes_.push_back(static_cast<std::byte>(n >> shift));
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  bytes_.insert(bytes_.end(), data, data + text.size());
  ++count_;
}

Result<std::uint32_t> Metadata::get_u32(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return missing(key);
  std::uint64_t number = 0;
  if (const auto* u = std::get_if<std::uint64_t>(&found->second)) {
    number = *u;
  } else if (const auto* i = std::get_if<std::int64_t>(&found->second); i != nullptr && *i >= 0) {
    number = static_cast<std::uint64_t>(*i);
  } else {
    return wrong_kind(key, "an integer of at least 0");
  }
  if (number > std::numeric_limits<std::uint32_t>::max()) return wrong_kind(key, "an integer below 2^32");
  return static_cast<std::uint32_t>(number);
}

Result<std::uint32_t> Metadata::get_u32_or(std::string_view key, std::uint32_t fallback) const {
  if (!contains(key)) return fallback;
  return get_u32(key);
}

Result<float> Metadata::get_f32(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return missing(key);
  const auto* number = std::get_if<double>(&found->second);
  if (number == nullptr) return wrong_kind(key, "a float");
  return static_cast<float>(*number);
}

Result<float> Metadata::get_f32_or(std::string_view key, float fallback) const {
  if (!contains(key)) return fallback;
  return get_f32(key);
}

Result<bool> Metadata::get_bool_or(std::string_view key, bool fallback) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return fallback;
  const auto* flag = std::get_if<bool>(&found->second);
  if (flag == nullptr) return wrong_kind(key, "a bool");
  return *flag;
}

Result<std::string_view> Metadata::get_string(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return missing(key);
  const auto* text = std::get_if<std::string>(&found->second);
  if (text == nullptr) return wrong_kind(key, "a string");
  return std::string_view(*text);
}

Result<std::string_view> Metadata::get_string_or(std::string_view key, std::string_view fallback) const {
  if (!contains(key)) return fallback;
  return get_string(key);
}

bool Metadata::set(std::string key, Value value) {
  return values_.try_emplace(std::move(key), std::move(value)).second;
}

}  // namespace lookback::formats
