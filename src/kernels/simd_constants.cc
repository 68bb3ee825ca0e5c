#include "kernels/simd.h"

namespace lookback::kernels {

SimdConstants simd_constants = {
    .low_nibble_i16 = {15, 15, 15, 15, 15, 15, 15, 15},
    .low_nibble_i32 = {15, 15, 15, 15},
    .low_nibble_i8 = {15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15},
    .half_bits = {0x8fffe000U, 0x8fffe000U, 0x8fffe000U, 0x8fffe000U},
};

}  // namespace lookback::kernels
