// Blocks of quantised files taken apart into codes, scales and minima, for packing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "quant/dtype.h"

namespace lookback::kernels {

/// 32 weights: w[i] = scale[i / 16] · code[i] + minimum, in f32. Equal to quant::dequantize_row of the same block:
/// products are exact in f32 wherever a minimum is added, so one rounding remains on either side.
struct BlockCodes {
  std::array<std::int8_t, 32> code;
  std::array<float, 2> scale;  ///< for codes 0…15 and 16…31
  float minimum;
};

/// Weights [32 · index, 32 · index + 32) of a row of any block dtype (Q…). row: any alignment.
BlockCodes read_block_codes(quant::DType dtype, const std::byte* row, std::uint32_t index);

}  // namespace lookback::kernels
