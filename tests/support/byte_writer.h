// ByteWriter and the writers of small weights files: sound ones, and ones that lie wherever a test wants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lookback::test {

/// Appends little-endian numbers and text.
class ByteWriter {
 public:
  template <typename T>
  ByteWriter& number(T value) {
    const auto* data = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), data, data + sizeof(T));
    return *this;
  }
  ByteWriter& text(std::string_view text) {
    const auto raw = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), raw.begin(), raw.end());
    return *this;
  }
  ByteWriter& bytes(std::span<const std::byte> raw) {
    bytes_.insert(bytes_.end(), raw.begin(), raw.end());
    return *this;
  }
  ByteWriter& zeros(std::size_t n) {
    bytes_.insert(bytes_.end(), n, std::byte{0});
    return *this;
  }
  std::size_t size() const { return bytes_.size(); }
  const std::vector<std::byte>& done() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// GGUF: u64 length + bytes.
inline ByteWriter& gguf_string(ByteWriter& out, std::string_view text) {
  return out.number(std::uint64_t{text.size()}).text(text);
}

/// Key/value pairs and tensors of a GGUF; counts, version and alignment may be given wrongly.
struct GgufWriter {
  std::uint32_t version = 3;
  std::uint64_t n_tensors = 0;
  std::uint64_t n_key_values = 0;
  std::uint64_t alignment = 32;
  std::size_t data_bytes = 0;
  ByteWriter key_values;
  ByteWriter tensor_infos;

  /// type: gguf_metadata_value_type's number for T.
  template <typename T>
  GgufWriter& key(std::string_view name, std::uint32_t type, T value) {
    ++n_key_values;
    gguf_string(key_values, name).number(type).number(value);
    return *this;
  }
  GgufWriter& key(std::string_view name, std::string_view value) {
    ++n_key_values;
    gguf_string(gguf_string(key_values, name).number(std::uint32_t{8}), value);
    return *this;
  }
  GgufWriter& strings(std::string_view name, std::span<const std::string> values) {
    ++n_key_values;
    gguf_string(key_values, name)
        .number(std::uint32_t{9})
        .number(std::uint32_t{8})
        .number(std::uint64_t{values.size()});
    for (const std::string& value : values) gguf_string(key_values, value);
    return *this;
  }
  /// dims: inner → outer, as the file has them; type: ggml_type's number.
  GgufWriter& tensor(std::string_view name, std::span<const std::uint64_t> dims, std::uint32_t type,
                     std::uint64_t offset) {
    ++n_tensors;
    gguf_string(tensor_infos, name).number(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t dim : dims) tensor_infos.number(dim);
    tensor_infos.number(type).number(offset);
    return *this;
  }
  /// The file, with data_bytes bytes of data: 0, 1, 2 … 255, 0 …
  std::vector<std::byte> done() const {
    ByteWriter out;
    out.text("GGUF").number(version).number(n_tensors).number(n_key_values);
    out.bytes(key_values.done()).bytes(tensor_infos.done());
    if (alignment != 0) out.zeros(static_cast<std::size_t>((alignment - out.size() % alignment) % alignment));
    for (std::size_t i = 0; i < data_bytes; ++i) out.number(static_cast<std::uint8_t>(i));
    return out.done();
  }
};

/// safetensors: a header as text, padded or not by the caller, and data of zeros.
inline std::vector<std::byte> safetensors_file(std::string_view header, std::size_t data_bytes) {
  return ByteWriter().number(std::uint64_t{header.size()}).text(header).zeros(data_bytes).done();
}

/// Protobuf fields, appended in the order called.
class ProtobufWriter {
 public:
  ProtobufWriter& varint(std::uint32_t field, std::uint64_t value) {
    put(std::uint64_t{field} << 3);
    put(value);
    return *this;
  }
  ProtobufWriter& text(std::uint32_t field, std::string_view text) {
    return raw(field, std::as_bytes(std::span(text)));
  }
  ProtobufWriter& message(std::uint32_t field, const ProtobufWriter& inner) { return raw(field, inner.done()); }
  ProtobufWriter& raw(std::uint32_t field, std::span<const std::byte> bytes) {
    put(std::uint64_t{field} << 3 | 2);
    put(bytes.size());
    out_.bytes(bytes);
    return *this;
  }
  ProtobufWriter& byte(int value) {
    out_.number(static_cast<std::uint8_t>(value));
    return *this;
  }
  const std::vector<std::byte>& done() const { return out_.done(); }

 private:
  void put(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.number(static_cast<std::uint8_t>(value | 0x80));
    out_.number(static_cast<std::uint8_t>(value));
  }
  ByteWriter out_;
};

}  // namespace lookback::test
