// parse_safetensors_header: the JSON header of a safetensors file → tensor directory.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "formats/tensor_info.h"
#include "lookback/result.h"

namespace lookback::formats {

/// json: the header as it stands in the file, from byte json_offset on. Offsets of the tensors become file offsets, counted
/// from the end of the header. Tensors come in the header's order; where they lie is not checked here.
/// Errors: bad_header, unsupported_dtype, duplicate_tensor, bad_offset.
Result<std::vector<TensorInfo>> parse_safetensors_header(std::string_view file, std::string_view json,
                                                         std::uint64_t json_offset);

}  // namespace lookback::formats
