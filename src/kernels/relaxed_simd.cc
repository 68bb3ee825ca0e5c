// The relaxed variant: the SIMD kernels with relaxed instructions.
#include "kernels/simd_attention.h"
#include "kernels/simd_matmul.h"
#include "kernels/simd_ops.h"
#include "kernels/variants.h"

namespace lookback::kernels {

const KernelTable kRelaxedSimd = {
    .name = "relaxed",
    .matmul = SimdMatmul<RelaxedSimd>::run,
    .attention = SimdAttention<RelaxedSimd>::run,
    .attention_scores = SimdAttention<RelaxedSimd>::scores,
    .rms_norm = SimdOps<RelaxedSimd>::rms_norm,
    .rope = SimdOps<RelaxedSimd>::rope,
    .silu_mul = SimdOps<RelaxedSimd>::silu_mul,
    .softmax = SimdOps<RelaxedSimd>::softmax,
    .dot = SimdOps<RelaxedSimd>::dot,
    .axpy = SimdOps<RelaxedSimd>::axpy,
};

}  // namespace lookback::kernels
