// quant: the number formats of weights files. Owns: their names, block sizes and what a block means. May touch: base.
// Start reading here, then dequantize.h.
#pragma once

#include <cstdint>
#include <string_view>

namespace lookback::quant {

/// Element types of weights files. Block formats are ggml's (ggml-common.h of llama.cpp describes the layouts).
enum class DType { kF32, kF16, kBF16, kQ8_0, kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ4_K, kQ5_K, kQ6_K };

/// "F32", "BF16", "Q4_1", …: the spelling of inspect, errors and model.info.
std::string_view dtype_name(DType dtype);

/// Elements a block: 1 for floats, 32 for Qn_0 and Qn_1, 256 for K-quants.
std::uint32_t block_size(DType dtype);

/// Bytes a block: 4, 2, 2, 34, 18, 20, 22, 24, 144, 176, 210.
std::uint32_t block_bytes(DType dtype);

/// Bytes of a row of n_cols elements; n_cols is a multiple of block_size (CHECKed).
std::uint64_t row_bytes(DType dtype, std::uint64_t n_cols);

}  // namespace lookback::quant
