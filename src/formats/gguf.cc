#include "formats/gguf.h"

#include <algorithm>
#include <bit>

#include "base/checked_math.h"
#include "formats/gguf_tokenizer.h"
#include "formats/gguf_types.h"
#include "formats/limits.h"
#include "formats/refusal.h"

namespace lookback::formats {
namespace {

// Least bytes of an entry: an empty key and a type and one byte; an empty name, one dimension, type and offset.
constexpr std::uint64_t kLeastKeyValueBytes = 8 + 4 + 1;
constexpr std::uint64_t kLeastTensorInfoBytes = 8 + 4 + 8 + 4 + 8;

constexpr std::uint32_t kMaxGgmlDims = 4;  // GGML_MAX_DIMS

}  // namespace

GgufReader::GgufReader(std::string file, std::optional<std::uint64_t> n_bytes, TensorSink* sink)
    : file_(std::move(file)), n_bytes_(n_bytes), sink_(sink), stream_(file_, sink) {}

Result<void> GgufReader::feed(std::span<const std::byte> bytes) {
  while (stage_ != Stage::kData && !bytes.empty()) {
    pending_.append_from(bytes);
    Progress progress = Progress::kItem;
    while (stage_ != Stage::kData && progress == Progress::kItem) {
      base::ByteReader in = pending_.reader();
      Result<Progress> parsed = parse_item(in);
      if (!parsed) return parsed.error();
      progress = *parsed;
      if (progress == Progress::kItem) pending_.consume(in.position());
      // Between two stages nothing may be left to read: a file without tensors has no item there.
      if (stage_ == Stage::kKeyValues && n_key_values_left_ == 0) LOOKBACK_TRY(key_values_done());
      if (stage_ == Stage::kTensorInfos && n_tensors_left_ == 0) LOOKBACK_TRY(header_done());
    }
    if (stage_ == Stage::kData) {
      LOOKBACK_TRY(stream_.feed(pending_.unread()));
      pending_ = PendingBytes();
    } else {
      pending_.compact();
      if (pending_.offset() > kMaxHeaderBytes) {
        return refuse(ErrorCode::kBadHeader, file_,
                      "the header is longer than " + std::to_string(kMaxHeaderBytes) + " bytes", pending_.offset());
      }
    }
  }
  return bytes.empty() ? Result<void>() : stream_.feed(bytes);
}

Result<void> GgufReader::finish() {
  if (stage_ != Stage::kData) {
    return refuse(ErrorCode::kTruncated, file_, "the file ends inside " + where(),
                  pending_.offset() + pending_.unread().size());
  }
  LOOKBACK_TRY(stream_.finish());
  return check_end(stream_.position());
}

/// Source: the specification pads what it writes to the alignment, the last tensor too; writers may leave that out.
Result<void> GgufReader::check_end(std::uint64_t file_size) const {
  return formats::check_end(file_, tensors_, data_start_, alignment_, file_size);
}

std::string GgufReader::where() const {
  switch (stage_) {
    case Stage::kCounts:
      return "the fixed header (magic, version, counts)";
    case Stage::kKeyValues:
      return "the key/value pairs, " + std::to_string(n_key_values_left_) + " to come";
    case Stage::kArray:
      return "key " + in_quotes(array_.key) + ", " + std::to_string(array_.n_left) + " elements to come";
    case Stage::kTensorInfos:
      return "the tensor directory, " + std::to_string(n_tensors_left_) + " to come";
    case Stage::kData:
      break;
  }
  return "the data";
}

Result<GgufReader::Progress> GgufReader::parse_item(base::ByteReader& in) {
  switch (stage_) {
    case Stage::kCounts:
      return parse_counts(in);
    case Stage::kKeyValues:
      return parse_key_value(in);
    case Stage::kArray:
      return parse_array_elements(in);
    default:
      return parse_tensor_info(in);
  }
}

std::string GgufReader::Subject::text() const {
  return std::string(words) + (key.empty() ? "" : in_quotes(key)) + std::string(after);
}

Result<void> GgufReader::check_claim(const base::ByteReader& in, const Subject& subject, std::uint64_t n,
                                     std::uint64_t item_bytes, std::uint64_t most) const {
  const std::uint64_t offset = offset_of(in);
  if (n > most) {
    return refuse(ErrorCode::kBadHeader, file_,
                  subject.text() + " " + std::to_string(n) + ", expected at most " + std::to_string(most), offset);
  }
  if (n_bytes_ && n * item_bytes > *n_bytes_ - std::min(*n_bytes_, offset)) {
    return refuse(ErrorCode::kTruncated, file_,
                  subject.text() + " " + std::to_string(n) + ", but the file ends after another " +
                      std::to_string(*n_bytes_ - std::min(*n_bytes_, offset)) + " bytes",
                  offset);
  }
  return {};
}

/// u64 length, bytes. Nothing where more must come; an impossible length is refused before it is waited for.
Result<std::optional<std::string_view>> GgufReader::parse_string(base::ByteReader& in, const Subject& subject,
                                                                 std::uint64_t longest) const {
  const auto length = in.number<std::uint64_t>();
  if (!in.ok()) return std::optional<std::string_view>();
  LOOKBACK_TRY(check_claim(in, {subject.words, subject.key, ": length"}, length, 1, longest));
  const std::string_view text = in.text(length);
  return in.ok() ? std::optional(text) : std::nullopt;
}

Result<GgufReader::Progress> GgufReader::parse_counts(base::ByteReader& in) {
  in.number<std::uint32_t>();  // the magic, by which this reader was chosen
  const auto version = in.number<std::uint32_t>();
  if (in.ok() && version != 2 && version != 3) {
    const bool swapped = version == 0x02000000U || version == 0x03000000U;
    return refuse(ErrorCode::kUnsupportedVersion, file_,
                  swapped ? "a big-endian GGUF, expected little-endian"
                          : "GGUF version " + std::to_string(version) + ", expected 2 or 3",
                  4);
  }
  const auto n_tensors = in.number<std::uint64_t>();
  if (in.ok()) LOOKBACK_TRY(check_claim(in, {"tensor count"}, n_tensors, kLeastTensorInfoBytes, kMaxEntries));
  const auto n_key_values = in.number<std::uint64_t>();
  if (!in.ok()) return Progress::kWait;
  LOOKBACK_TRY(check_claim(in, {"key/value count"}, n_key_values, kLeastKeyValueBytes, kMaxEntries));
  n_tensors_left_ = n_tensors;
  n_key_values_left_ = n_key_values;
  stage_ = Stage::kKeyValues;
  return Progress::kItem;
}

Result<GgufReader::Progress> GgufReader::parse_key_value(base::ByteReader& in) {
  auto key = parse_string(in, {"a key"}, kMaxNameBytes);
  if (!key) return key.error();
  const auto type = in.number<std::uint32_t>();
  if (!in.ok()) return Progress::kWait;
  const std::string_view name = **key;
  if (metadata_.contains(name)) {
    return refuse(ErrorCode::kBadHeader, file_, "key " + in_quotes(name) + " stands twice", pending_.offset());
  }
  if (type >= std::size(kGgufValueBytes)) {
    return refuse(ErrorCode::kBadHeader, file_,
                  "key " + in_quotes(name) + ": value type " + std::to_string(type) + ", expected 0 to 12",
                  offset_of(in) - 4);
  }
  if (type == kArray) return parse_array_head(in, name);
  if (type == kString) {
    auto text = parse_string(in, {"key ", name}, kMaxStringBytes);
    if (!text) return text.error();
    if (!in.ok()) return Progress::kWait;
    metadata_.set(std::string(name), std::string(**text));
  } else {
    Metadata::Value value = read_gguf_scalar(in, type);
    if (!in.ok()) return Progress::kWait;
    metadata_.set(std::string(name), std::move(value));
  }
  --n_key_values_left_;
  return Progress::kItem;
}

Result<GgufReader::Progress> GgufReader::parse_array_head(base::ByteReader& in, std::string_view key) {
  const auto type = in.number<std::uint32_t>();
  const auto n = in.number<std::uint64_t>();
  if (!in.ok()) return Progress::kWait;
  const auto bad_type = [&](std::string_view expected) {
    return refuse(
        ErrorCode::kBadHeader, file_,
        "key " + in_quotes(key) + ": element type " + std::to_string(type) + ", expected " + std::string(expected),
        offset_of(in) - 12);
  };
  if (type >= std::size(kGgufValueBytes) || type == kArray) return bad_type("a number or string");
  if ((key == kTokensKey || key == kMergesKey) && type != kString) return bad_type("8 (string)");
  if (key == kTokenTypesKey && type != kI32 && type != kU32) return bad_type("5 (i32)");
  LOOKBACK_TRY(check_claim(in, {"key ", key, ": element count"}, n, kGgufValueBytes[type], kMaxArrayElements));
  metadata_.set(std::string(key), ArrayNote{n});
  array_ = {std::string(key), type, n};
  stage_ = Stage::kArray;
  if (n == 0) array_done();
  return Progress::kItem;
}

Result<GgufReader::Progress> GgufReader::parse_array_elements(base::ByteReader& in) {
  if (array_.type == kString) {
    auto text = parse_string(in, {"an element of key ", array_.key}, kMaxStringBytes);
    if (!text) return text.error();
    if (!in.ok()) return Progress::kWait;
    if (array_.key == kTokensKey) tokenizer_.tokens.append(**text);
    if (array_.key == kMergesKey) tokenizer_.merges.append(**text);
    --array_.n_left;
  } else {
    const std::uint64_t n = std::min<std::uint64_t>(array_.n_left, in.left() / kGgufValueBytes[array_.type]);
    if (n == 0) return Progress::kWait;
    const auto bytes = in.bytes(n * kGgufValueBytes[array_.type]);
    if (array_.key == kTokenTypesKey) {
      for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::int32_t)) {
        tokenizer_.token_types.push_back(base::load_le<std::int32_t>(&bytes[i]));
      }
    }
    array_.n_left -= n;
  }
  if (array_.n_left == 0) array_done();
  return Progress::kItem;
}

void GgufReader::array_done() {
  stage_ = Stage::kKeyValues;
  --n_key_values_left_;
}

Result<void> GgufReader::key_values_done() {
  auto alignment = metadata_.get_u32_or("general.alignment", 32);
  if (!alignment) return with_file(alignment.error());
  // Source: the specification asks for a multiple of 8; real files use 32. A page and more is not an alignment but a lie.
  if (!std::has_single_bit(*alignment) || *alignment < 8 || *alignment > 65'536) {
    return refuse(ErrorCode::kBadHeader, file_,
                  "general.alignment is " + std::to_string(*alignment) + ", expected a power of two from 8 to 65536",
                  pending_.offset());
  }
  alignment_ = *alignment;
  if (metadata_.contains("tokenizer.ggml.model")) {
    if (auto read = read_tokenizer_keys(metadata_, tokenizer_); !read) return with_file(read.error());
    metadata_.set_tokenizer(std::move(tokenizer_));
  }
  stage_ = Stage::kTensorInfos;
  return {};
}

Result<GgufReader::Progress> GgufReader::parse_tensor_info(base::ByteReader& in) {
  auto parsed_name = parse_string(in, {"a tensor's name"}, kMaxNameBytes);
  if (!parsed_name) return parsed_name.error();
  const std::uint64_t dims_offset = offset_of(in);
  const auto n_dims = in.number<std::uint32_t>();
  if (!in.ok()) return Progress::kWait;
  const std::string_view name = **parsed_name;
  const auto bad = [&](ErrorCode code, const std::string& what, std::uint64_t offset) {
    return refuse(code, file_, "tensor " + in_quotes(name) + ": " + what, offset);
  };
  if (n_dims < 1 || n_dims > kMaxGgmlDims) {
    return bad(ErrorCode::kBadHeader,
               std::to_string(n_dims) + " dimensions, expected 1 to " + std::to_string(kMaxGgmlDims), dims_offset);
  }
  std::vector<std::uint64_t> shape(n_dims);
  for (std::uint32_t i = n_dims; i-- > 0;) shape[i] = in.number<std::uint64_t>();  // the file's order is inner → outer
  const auto type = in.number<std::uint32_t>();
  const auto offset = in.number<std::uint64_t>();
  if (!in.ok()) return Progress::kWait;

  const auto [type_name, dtype] = ggml_type(type);
  if (!dtype) {
    return bad(ErrorCode::kUnsupportedDtype,
               "type " + std::to_string(type) + " (" + std::string(type_name) + ") is not read", offset_of(in) - 12);
  }
  if (offset % alignment_ != 0) {
    return bad(ErrorCode::kBadOffset,
               "offset " + std::to_string(offset) + " is no multiple of the alignment " + std::to_string(alignment_),
               offset_of(in) - 8);
  }
  auto n_bytes = tensor_bytes_needed(file_, name, *dtype, shape, dims_offset);
  if (!n_bytes) return n_bytes.error();
  if (!tensor_names_.emplace(name).second) return bad(ErrorCode::kDuplicateTensor, "stands twice", pending_.offset());
  tensors_.push_back({std::string(name), "", "", *dtype, std::move(shape), *n_bytes, offset});
  --n_tensors_left_;
  return Progress::kItem;
}

Result<void> GgufReader::header_done() {
  tensor_names_.clear();
  data_start_ = (pending_.offset() + alignment_ - 1) / alignment_ * alignment_;
  for (TensorInfo& tensor : tensors_) {
    const auto offset = base::checked_add(data_start_, tensor.offset);
    if (!offset) {
      return refuse(ErrorCode::kBadOffset, file_, "tensor " + in_quotes(tensor.name) + ": offset beyond 64 bits",
                    tensor.offset);
    }
    tensor.offset = *offset;
  }
  LOOKBACK_TRY(sort_and_check_layout(file_, tensors_, {data_start_, n_bytes_, alignment_ - 1}));
  if (n_bytes_) LOOKBACK_TRY(check_end(*n_bytes_));
  stage_ = Stage::kData;
  stream_.start(tensors_, pending_.offset());
  LOOKBACK_TRY(sink_->on_metadata(metadata_));
  return sink_->on_directory(tensors_);
}

/// Metadata's getters know the key, not the file; the position is where the keys end.
Error GgufReader::with_file(const Error& error) const {
  return refuse(error.code, file_, error.message, pending_.offset());
}

}  // namespace lookback::formats
