#include "formats/protobuf_stream.h"

#include <algorithm>
#include <limits>

#include "formats/limits.h"
#include "formats/refusal.h"

namespace lookback::formats {
namespace {

enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

}  // namespace

std::optional<std::uint64_t> read_varint(base::ByteReader& in) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    const auto byte = in.number<std::uint8_t>();
    if (!in.ok()) return 0;
    value |= static_cast<std::uint64_t>(byte & 0x7F)
             << shift;  // bits past the 64th fall off, as in protobuf's own reader
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

ProtobufStream::ProtobufStream(std::string file, std::optional<std::uint64_t> n_bytes, ProtobufHandler* handler)
    : file_(std::move(file)), handler_(handler) {
  frames_.push_back({0, n_bytes.value_or(std::numeric_limits<std::uint64_t>::max())});
}

Result<void> ProtobufStream::feed(std::span<const std::byte> bytes) {
  while (true) {
    if (bulk_ != Bulk::kNone) {
      if (n_bulk_left_ > 0 && pending_.unread().empty() && bytes.empty()) return {};
      LOOKBACK_TRY(take_bulk(bytes));
      continue;
    }
    base::ByteReader in = pending_.reader();
    auto progress = parse_field(in);
    if (!progress) return progress.error();
    if (*progress == Progress::kItem) {
      pending_.consume(in.position());
      LOOKBACK_TRY(end_messages());
    } else {
      pending_.compact();
      if (bytes.empty()) return {};
      pending_.append_from(bytes);
    }
  }
}

/// Hands on or skips what there is of the bulk: first what is pending, then straight out of the caller's bytes.
Result<void> ProtobufStream::take_bulk(std::span<const std::byte>& bytes) {
  const bool from_pending = !pending_.unread().empty();
  const std::span<const std::byte> source = from_pending ? pending_.unread() : bytes;
  const auto piece = source.first(static_cast<std::size_t>(std::min<std::uint64_t>(n_bulk_left_, source.size())));
  if (bulk_ == Bulk::kHand && !piece.empty()) LOOKBACK_TRY(handler_->on_bulk(piece));
  n_bulk_left_ -= piece.size();
  if (from_pending) {
    pending_.consume(piece.size());
  } else {
    pending_.compact();
    pending_.pass_by(piece.size());
    bytes = bytes.subspan(piece.size());
  }
  if (n_bulk_left_ > 0) return {};
  if (bulk_ == Bulk::kHand) LOOKBACK_TRY(handler_->on_bulk_end());
  bulk_ = Bulk::kNone;
  return end_messages();
}

Result<void> ProtobufStream::end_messages() {
  while (frames_.size() > 1 && bulk_ == Bulk::kNone && pending_.offset() == frames_.back().end) {
    const int message = frames_.back().message;
    frames_.pop_back();
    LOOKBACK_TRY(handler_->on_message_end(message));
  }
  return {};
}

Result<ProtobufStream::Progress> ProtobufStream::parse_field(base::ByteReader& in) {
  const std::uint64_t start = pending_.offset();
  const std::optional<std::uint64_t> tag = read_varint(in);
  if (!in.ok()) return Progress::kWait;
  const std::uint64_t number = tag.value_or(0) >> 3;
  if (number == 0 || number > std::numeric_limits<std::uint32_t>::max()) {
    return refuse(ErrorCode::kBadHeader, file_, "no field number where a protobuf field begins", start);
  }
  const ProtobufField field{frames_.back().message, static_cast<std::uint32_t>(number)};
  switch (*tag & 7) {
    case kVarint: {
      const std::optional<std::uint64_t> value = read_varint(in);
      if (!in.ok()) return Progress::kWait;
      if (!value) return refuse(ErrorCode::kBadHeader, file_, "a protobuf number without an end", start);
      LOOKBACK_TRY(handler_->on_varint(field, *value));
      break;
    }
    case kFixed64:
      in.bytes(8);
      break;
    case kFixed32:
      in.bytes(4);
      break;
    case kLengthDelimited:
      return parse_length_delimited(in, field);
    default:
      return refuse(ErrorCode::kBadHeader, file_,
                    "protobuf wire type " + std::to_string(*tag & 7) + ", expected 0, 1, 2 or 5", start);
  }
  if (!in.ok()) return Progress::kWait;
  if (start + in.position() > frames_.back().end) {
    return refuse(ErrorCode::kBadHeader, file_, "a protobuf field runs past the end of its message", start);
  }
  return Progress::kItem;
}

Result<ProtobufStream::Progress> ProtobufStream::parse_length_delimited(base::ByteReader& in, ProtobufField field) {
  const std::uint64_t start = pending_.offset();
  const std::optional<std::uint64_t> length = read_varint(in);
  if (!in.ok()) return Progress::kWait;
  const std::uint64_t content = start + in.position();
  if (!length || *length > kMaxProtobufBytes) {
    return refuse(ErrorCode::kBadHeader, file_, "a protobuf length beyond 2 GiB", start);
  }
  if (content > frames_.back().end || *length > frames_.back().end - content) {
    const bool outermost = frames_.size() == 1;
    return refuse(outermost ? ErrorCode::kTruncated : ErrorCode::kBadHeader, file_,
                  "a protobuf field of " + std::to_string(*length) + " bytes runs past the end of " +
                      (outermost ? "the file" : "its message") + " at byte " + std::to_string(frames_.back().end),
                  start);
  }
  auto use = handler_->on_length(field, *length, content);
  if (!use) return use.error();
  switch (use->way) {
    case LengthUse::Way::kText: {
      const std::string_view text = in.text(*length);
      if (!in.ok()) return Progress::kWait;
      LOOKBACK_TRY(handler_->on_text(field, text));
      break;
    }
    case LengthUse::Way::kMessage:
      frames_.push_back({use->message, content + *length});
      break;
    case LengthUse::Way::kSkip:
    case LengthUse::Way::kBulk:
      bulk_ = use->way == LengthUse::Way::kBulk ? Bulk::kHand : Bulk::kSkip;
      n_bulk_left_ = *length;
      break;
  }
  return Progress::kItem;
}

Result<void> ProtobufStream::finish() {
  const bool whole = frames_.size() == 1 && bulk_ == Bulk::kNone && pending_.unread().empty();
  if (whole) return {};
  return refuse(ErrorCode::kTruncated, file_, "the file ends inside a protobuf field",
                pending_.offset() + pending_.unread().size());
}

}  // namespace lookback::formats
