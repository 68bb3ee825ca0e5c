#include "formats/gguf.h"

#include <algorithm>
#include <bit>

#include "base/checked_math.h"
#include "formats/limits.h"
#include "formats/refusal.h"

namespace lookback::formats {
namespace {

using quant::DType;

/// gguf_metadata_value_type
enum ValueType : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

/// Bytes of a value; a string's are the least it can have: its length.
constexpr std::uint64_t kValueBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 0, 8, 8, 8};

// Least bytes of an entry: an empty key and a type and one byte; an empty name, one dimension, type and offset.
constexpr std::uint64_t kLeastKeyValueBytes = 8 + 4 + 1;
constexpr std::uint64_t kLeastTensorInfoBytes = 8 + 4 + 8 + 4 + 8;

constexpr std::uint32_t kMaxGgmlDims = 4;  // GGML_MAX_DIMS

/// ggml_type → DType. The numbers are llama.cpp's and never change.
std::optional<DType> dtype_of(std::uint32_t type) {
  switch (type) {
    case 0:
      return DType::kF32;
    case 1:
      return DType::kF16;
    case 2:
      return DType::kQ4_0;
    case 3:
      return DType::kQ4_1;
    case 6:
      return DType::kQ5_0;
    case 7:
      return DType::kQ5_1;
    case 8:
      return DType::kQ8_0;
    case 12:
      return DType::kQ4_K;
    case 13:
      return DType::kQ5_K;
    case 14:
      return DType::kQ6_K;
    case 30:
      return DType::kBF16;
    default:
      return std::nullopt;
  }
}

/// For messages: what else llama.cpp knows.
std::string_view unread_type_name(std::uint32_t type) {
  constexpr std::string_view kNames[] = {"F32",     "F16",    "Q4_0",    "Q4_1",  "Q4_2",   "Q4_3",  "Q5_0",  "Q5_1",
                                         "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
                                         "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
                                         "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16"};
  return type < std::size(kNames) ? kNames[type] : "unknown";
}

/// A number of a type other than string and array; nothing where bytes are missing.
Metadata::Value scalar(base::ByteReader& in, std::uint32_t type) {
  switch (type) {
    case kU8:
      return std::uint64_t{in.number<std::uint8_t>()};
    case kI8:
      return std::int64_t{in.number<std::int8_t>()};
    case kU16:
      return std::uint64_t{in.number<std::uint16_t>()};
    case kI16:
      return std::int64_t{in.number<std::int16_t>()};
    case kU32:
      return std::uint64_t{in.number<std::uint32_t>()};
    case kI32:
      return std::int64_t{in.number<std::int32_t>()};
    case kF32:
      return double{in.number<float>()};
    case kU64:
      return in.number<std::uint64_t>();
    case kI64:
      return in.number<std::int64_t>();
    case kF64:
      return in.number<double>();
    default:
      return in.number<std::uint8_t>() != 0;  // kBool; callers have refused the rest
  }
}

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kMerges = "tokenizer.ggml.merges";
constexpr std::string_view kTokenTypes = "tokenizer.ggml.token_type";

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
  return stream_.finish();
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

Result<void> GgufReader::check_claim(const base::ByteReader& in, std::string_view what, std::uint64_t n,
                                     std::uint64_t item_bytes, std::uint64_t most) const {
  const std::uint64_t offset = offset_of(in);
  if (n > most) {
    return refuse(ErrorCode::kBadHeader, file_,
                  std::string(what) + " " + std::to_string(n) + ", expected at most " + std::to_string(most), offset);
  }
  if (n_bytes_ && n * item_bytes > *n_bytes_ - std::min(*n_bytes_, offset)) {
    return refuse(ErrorCode::kTruncated, file_,
                  std::string(what) + " " + std::to_string(n) + ", but the file ends after another " +
                      std::to_string(*n_bytes_ - std::min(*n_bytes_, offset)) + " bytes",
                  offset);
  }
  return {};
}

/// u64 length, bytes. Nothing where more must come; an impossible length is refused before it is waited for.
Result<std::optional<std::string_view>> GgufReader::parse_string(base::ByteReader& in, std::string_view what,
                                                                 std::uint64_t longest) const {
  const auto length = in.number<std::uint64_t>();
  if (!in.ok()) return std::optional<std::string_view>();
  LOOKBACK_TRY(check_claim(in, std::string(what) + ": length", length, 1, longest));
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
  if (in.ok()) LOOKBACK_TRY(check_claim(in, "tensor count", n_tensors, kLeastTensorInfoBytes, kMaxEntries));
  const auto n_key_values = in.number<std::uint64_t>();
  if (!in.ok()) return Progress::kWait;
  LOOKBACK_TRY(check_claim(in, "key/value count", n_key_values, kLeastKeyValueBytes, kMaxEntries));
  n_tensors_left_ = n_tensors;
  n_key_values_left_ = n_key_values;
  stage_ = Stage::kKeyValues;
  return Progress::kItem;
}

Result<GgufReader::Progress> GgufReader::parse_key_value(base::ByteReader& in) {
  auto key = parse_string(in, "a key", kMaxNameBytes);
  if (!key) return key.error();
  const auto type = in.number<std::uint32_t>();
  if (!in.ok()) return Progress::kWait;
  const std::string_view name = **key;
  if (metadata_.contains(name)) {
    return refuse(ErrorCode::kBadHeader, file_, "key " + in_quotes(name) + " stands twice", pending_.offset());
  }
  if (type >= std::size(kValueBytes)) {
    return refuse(ErrorCode::kBadHeader, file_,
                  "key " + in_quotes(name) + ": value type " + std::to_string(type) + ", expected 0 to 12",
                  offset_of(in) - 4);
  }
  if (type == kArray) return parse_array_head(in, name);
  if (type == kString) {
    auto text = parse_string(in, "key " + in_quotes(name), kMaxStringBytes);
    if (!text) return text.error();
    if (!in.ok()) return Progress::kWait;
    metadata_.set(std::string(name), std::string(**text));
  } else {
    Metadata::Value value = scalar(in, type);
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
  if (type >= std::size(kValueBytes) || type == kArray) return bad_type("a number or string");
  if ((key == kTokens || key == kMerges) && type != kString) return bad_type("8 (string)");
  if (key == kTokenTypes && type != kI32 && type != kU32) return bad_type("5 (i32)");
  LOOKBACK_TRY(check_claim(in, "key " + in_quotes(key) + ": element count", n, kValueBytes[type], kMaxArrayElements));
  metadata_.set(std::string(key), ArrayNote{n});
  array_ = {std::string(key), type, n};
  stage_ = Stage::kArray;
  if (n == 0) array_done();
  return Progress::kItem;
}

Result<GgufReader::Progress> GgufReader::parse_array_elements(base::ByteReader& in) {
  if (array_.type == kString) {
    auto text = parse_string(in, "an element of key " + in_quotes(array_.key), kMaxStringBytes);
    if (!text) return text.error();
    if (!in.ok()) return Progress::kWait;
    if (array_.key == kTokens) tokenizer_.tokens.append(**text);
    if (array_.key == kMerges) tokenizer_.merges.append(**text);
    --array_.n_left;
  } else {
    const std::uint64_t n = std::min<std::uint64_t>(array_.n_left, in.left() / kValueBytes[array_.type]);
    if (n == 0) return Progress::kWait;
    const auto bytes = in.bytes(n * kValueBytes[array_.type]);
    if (array_.key == kTokenTypes) {
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
  LOOKBACK_TRY(read_tokenizer_keys());
  stage_ = Stage::kTensorInfos;
  return {};
}

Result<void> GgufReader::read_tokenizer_keys() {
  if (!metadata_.contains("tokenizer.ggml.model")) return {};
  const auto text = [&](std::string_view key, std::string& field) -> Result<void> {
    auto value = metadata_.get_string_or(key, "");
    if (!value) return with_file(value.error());
    field = std::string(*value);
    return {};
  };
  const auto id = [&](std::string_view key, std::optional<std::uint32_t>& field) -> Result<void> {
    if (!metadata_.contains(key)) return {};
    auto value = metadata_.get_u32(key);
    if (!value) return with_file(value.error());
    field = *value;
    return {};
  };
  const auto flag = [&](std::string_view key, bool& field) -> Result<void> {
    auto value = metadata_.get_bool_or(key, false);
    if (!value) return with_file(value.error());
    field = *value;
    return {};
  };
  LOOKBACK_TRY(text("tokenizer.ggml.model", tokenizer_.model));
  LOOKBACK_TRY(text("tokenizer.ggml.pre", tokenizer_.pre));
  LOOKBACK_TRY(text("tokenizer.chat_template", tokenizer_.chat_template));
  LOOKBACK_TRY(id("tokenizer.ggml.bos_token_id", tokenizer_.bos_id));
  LOOKBACK_TRY(id("tokenizer.ggml.eos_token_id", tokenizer_.eos_id));
  LOOKBACK_TRY(id("tokenizer.ggml.unknown_token_id", tokenizer_.unk_id));
  LOOKBACK_TRY(id("tokenizer.ggml.padding_token_id", tokenizer_.pad_id));
  LOOKBACK_TRY(flag("tokenizer.ggml.add_bos_token", tokenizer_.add_bos));
  LOOKBACK_TRY(flag("tokenizer.ggml.add_space_prefix", tokenizer_.add_space_prefix));
  if (!tokenizer_.token_types.empty() && tokenizer_.token_types.size() != tokenizer_.tokens.count()) {
    return refuse(ErrorCode::kBadHeader, file_,
                  std::string(kTokenTypes) + " has " + std::to_string(tokenizer_.token_types.size()) + " entries for " +
                      std::to_string(tokenizer_.tokens.count()) + " tokens",
                  pending_.offset());
  }
  metadata_.set_tokenizer(std::move(tokenizer_));
  return {};
}

Result<GgufReader::Progress> GgufReader::parse_tensor_info(base::ByteReader& in) {
  auto parsed_name = parse_string(in, "a tensor's name", kMaxNameBytes);
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

  const std::optional<DType> dtype = dtype_of(type);
  if (!dtype) {
    return bad(ErrorCode::kUnsupportedDtype,
               "type " + std::to_string(type) + " (" + std::string(unread_type_name(type)) + ") is not read",
               offset_of(in) - 12);
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
  const std::uint64_t data_start = (pending_.offset() + alignment_ - 1) / alignment_ * alignment_;
  for (TensorInfo& tensor : tensors_) {
    const auto offset = base::checked_add(data_start, tensor.offset);
    if (!offset) {
      return refuse(ErrorCode::kBadOffset, file_, "tensor " + in_quotes(tensor.name) + ": offset beyond 64 bits",
                    tensor.offset);
    }
    tensor.offset = *offset;
  }
  LOOKBACK_TRY(sort_and_check_layout(file_, tensors_, {data_start, n_bytes_, alignment_ - 1}));
  stage_ = Stage::kData;
  stream_.start(tensors_, pending_.offset());
  LOOKBACK_TRY(sink_->on_metadata(metadata_));
  return sink_->on_directory(tensors_);
}

/// Metadata's getters know the key, not the file.
Error GgufReader::with_file(const Error& error) const { return refuse(error.code, file_, error.message, error.offset); }

}  // namespace lookback::formats
