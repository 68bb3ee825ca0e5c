#include "formats/gguf_types.h"

#include <iterator>

namespace lookback::formats {
namespace {

using quant::DType;

// The index is the number; they never change.
constexpr GgmlType kGgmlTypes[] = {{"F32", DType::kF32},
                                   {"F16", DType::kF16},
                                   {"Q4_0", DType::kQ4_0},
                                   {"Q4_1", DType::kQ4_1},
                                   {"Q4_2", {}},
                                   {"Q4_3", {}},
                                   {"Q5_0", DType::kQ5_0},
                                   {"Q5_1", DType::kQ5_1},
                                   {"Q8_0", DType::kQ8_0},
                                   {"Q8_1", {}},
                                   {"Q2_K", {}},
                                   {"Q3_K", {}},
                                   {"Q4_K", DType::kQ4_K},
                                   {"Q5_K", DType::kQ5_K},
                                   {"Q6_K", DType::kQ6_K},
                                   {"Q8_K", {}},
                                   {"IQ2_XXS", {}},
                                   {"IQ2_XS", {}},
                                   {"IQ3_XXS", {}},
                                   {"IQ1_S", {}},
                                   {"IQ4_NL", {}},
                                   {"IQ3_S", {}},
                                   {"IQ2_S", {}},
                                   {"IQ4_XS", {}},
                                   {"I8", {}},
                                   {"I16", {}},
                                   {"I32", {}},
                                   {"I64", {}},
                                   {"F64", {}},
                                   {"IQ1_M", {}},
                                   {"BF16", DType::kBF16}};

}  // namespace

Metadata::Value read_gguf_scalar(base::ByteReader& in, std::uint32_t type) {
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

GgmlType ggml_type(std::uint32_t number) {
  return number < std::size(kGgmlTypes) ? kGgmlTypes[number] : GgmlType{"unknown", std::nullopt};
}

}  // namespace lookback::formats
