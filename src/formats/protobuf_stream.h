// ProtobufStream: protobuf's wire format read as it streams in. Knows messages, fields and lengths; what they mean is the
// handler's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/pending_bytes.h"
#include "lookback/result.h"

namespace lookback::formats {

/// One base-128 varint. Nothing where it has no end within 10 bytes; in.ok() tells missing bytes from that.
std::optional<std::uint64_t> read_varint(base::ByteReader& in);

/// A field by its message's kind (the handler's own numbering; the outermost is 0) and its number.
struct ProtobufField {
  int message;
  std::uint32_t number;
};

/// What the handler wants of a length-delimited field.
struct LengthUse {
  enum class Way {
    kSkip,     ///< nothing
    kText,     ///< all of it at once: on_text; kept in memory until whole
    kBulk,     ///< pieces as they come: on_bulk, then on_bulk_end
    kMessage,  ///< its fields, as those of a message of kind `message`; on_message_end follows
  };
  Way way = Way::kSkip;
  int message = 0;
};

class ProtobufHandler {
 public:
  virtual ~ProtobufHandler() = default;
  virtual Result<void> on_varint(ProtobufField field, std::uint64_t value) = 0;
  /// offset: of the content in the file. Asked again while a kText field is not whole yet, so it changes nothing then.
  virtual Result<LengthUse> on_length(ProtobufField field, std::uint64_t n_bytes, std::uint64_t offset) = 0;
  virtual Result<void> on_text(ProtobufField field, std::string_view text) = 0;
  virtual Result<void> on_bulk(std::span<const std::byte> bytes) = 0;
  virtual Result<void> on_bulk_end() = 0;
  virtual Result<void> on_message_end(int message) = 0;
};

/// Source: protobuf's encoding guide. Groups (wire types 3 and 4) are refused: ONNX has none.
class ProtobufStream {
 public:
  ProtobufStream(std::string file, std::optional<std::uint64_t> n_bytes, ProtobufHandler* handler);

  Result<void> feed(std::span<const std::byte> bytes);
  /// Errors: truncated inside a field or message.
  Result<void> finish();
  /// File offset of what is being read.
  std::uint64_t offset() const { return pending_.offset(); }

 private:
  enum class Progress { kItem, kWait };
  struct Frame {
    int message;
    std::uint64_t end;  // file offset
  };
  enum class Bulk { kNone, kSkip, kHand };

  Result<Progress> parse_field(base::ByteReader& in);
  Result<Progress> parse_length_delimited(base::ByteReader& in, ProtobufField field);
  Result<void> take_bulk(std::span<const std::byte>& bytes);
  Result<void> end_messages();

  std::string file_;
  ProtobufHandler* handler_;
  PendingBytes pending_;
  std::vector<Frame> frames_;  // the outermost first, never empty
  Bulk bulk_ = Bulk::kNone;
  std::uint64_t n_bulk_left_ = 0;
};

}  // namespace lookback::formats
