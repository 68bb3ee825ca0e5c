// The one list of kernel variants, from the one written to be read to the fastest. Tests and benchmarks run all of them;
// the last one that the target can run is the one that ships in it.
#pragma once

#include <array>

#include "kernels/kernel_table.h"

namespace lookback::kernels {

extern const KernelTable kReference;    // reference.cc: scalar, double accumulators
extern const KernelTable kSimd128;      // simd128.cc: fixed-width SIMD, multiply and add
extern const KernelTable kRelaxedSimd;  // relaxed_simd.cc: the same kernels with fused multiply-add

// Natively all are compiled, through SIMDe and std::fma, so that sanitizers reach them; simd128 runs, being the faster there.
#if !defined(__EMSCRIPTEN__)
inline constexpr std::array kVariants = {&kReference, &kSimd128, &kRelaxedSimd};
inline constexpr const KernelTable* kRunning = &kSimd128;
#elif defined(__wasm_relaxed_simd__)
inline constexpr std::array kVariants = {&kReference, &kSimd128, &kRelaxedSimd};
inline constexpr const KernelTable* kRunning = &kRelaxedSimd;
#else
inline constexpr std::array kVariants = {&kReference, &kSimd128};
inline constexpr const KernelTable* kRunning = &kSimd128;
#endif

}  // namespace lookback::kernels
