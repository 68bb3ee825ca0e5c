#include "kernels/simd.h"

namespace lookback::kernels {
namespace {

constexpr std::array<float, 4> four(float value) { return {value, value, value, value}; }

}  // namespace

SimdConstants simd_constants = {
    .low_nibble_i16 = {15, 15, 15, 15, 15, 15, 15, 15},
    .low_nibble_i32 = {15, 15, 15, 15},
    .low_nibble_i8 = {15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15},
    .half_bits = {0x8fffe000U, 0x8fffe000U, 0x8fffe000U, 0x8fffe000U},
    .exp = {four(kRoundingBias), four(1.44269504088896341F), four(-0.693359375F), four(2.12194440e-4F),
            four(1.9875691500e-4F), four(1.3981999507e-3F), four(8.3334519073e-3F), four(4.1665795894e-2F),
            four(1.6666665459e-1F), four(5.0000001201e-1F), four(1.0F), four(-87.3F)},
};

}  // namespace lookback::kernels
