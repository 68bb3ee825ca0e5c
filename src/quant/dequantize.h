// Reference dequantisation: one row of any dtype to f32, exactly as ggml defines it. Written to be read; the packed
// kernels are held against it.
#pragma once

#include <cstddef>
#include <span>

#include "quant/dtype.h"

namespace lookback::quant {

/// row [n_cols] in `dtype` → out [n_cols] f32. row has row_bytes(dtype, out.size()) bytes, any alignment.
/// Source: ggml-quants.c (dequantize_row_*), products and sums in f32 as there.
void dequantize_row(DType dtype, const std::byte* row, std::span<float> out);

}  // namespace lookback::quant
