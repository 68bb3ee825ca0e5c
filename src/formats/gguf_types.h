// The numbers by which GGUF names types: of metadata values and of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/byte_reader.h"
#include "formats/metadata.h"
#include "quant/dtype.h"

namespace lookback::formats {

/// gguf_metadata_value_type
enum GgufValueType : std::uint32_t {
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

/// Bytes of a value, by its type; a string's are the least it can have: its length.
inline constexpr std::uint64_t kGgufValueBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 0, 8, 8, 8};

/// Reads a value of a type other than string and array; in.ok() is false where bytes are missing.
Metadata::Value read_gguf_scalar(base::ByteReader& in, std::uint32_t type);

struct GgmlType {
  std::string_view name;
  std::optional<quant::DType> dtype;  ///< none: llama.cpp knows it, this engine does not read it
};

/// ggml_type. A number that llama.cpp does not know either gives "unknown".
GgmlType ggml_type(std::uint32_t number);

}  // namespace lookback::formats
