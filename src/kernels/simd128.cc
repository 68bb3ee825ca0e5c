// The simd128 variant: the SIMD kernels with fixed-width instructions.
#include "kernels/simd_attention.h"
#include "kernels/simd_matmul.h"
#include "kernels/simd_ops.h"
#include "kernels/variants.h"

namespace lookback::kernels {

const KernelTable kSimd128 = {
    .name = "simd128",
    .matmul = SimdMatmul<Simd128>::run,
    .attention = SimdAttention<Simd128>::run,
    .attention_scores = SimdAttention<Simd128>::scores,
    .rms_norm = SimdOps<Simd128>::rms_norm,
    .rope = SimdOps<Simd128>::rope,
    .silu_mul = SimdOps<Simd128>::silu_mul,
    .softmax = SimdOps<Simd128>::softmax,
    .dot = SimdOps<Simd128>::dot,
    .axpy = SimdOps<Simd128>::axpy,
};

}  // namespace lookback::kernels
