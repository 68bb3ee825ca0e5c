// The one list of kernel variants, from the one written to be read to the fastest. Tests and benchmarks run all of them;
// the last one that the target can run is the one that ships in it.
#pragma once

#include <array>

#include "kernels/kernel_table.h"

namespace lookback::kernels {

extern const KernelTable kReference;  // reference.cc: scalar, double accumulators

inline constexpr std::array kVariants = {&kReference};
inline constexpr const KernelTable* kRunning = &kReference;

}  // namespace lookback::kernels
