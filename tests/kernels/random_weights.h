// Random rows of every weights format, as a file holds them, and random activations. All from one printed seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "quant/dtype.h"

namespace lookback::kernels {

inline constexpr quant::DType kAllDTypes[] = {quant::DType::kF32,  quant::DType::kF16,  quant::DType::kBF16,
                                              quant::DType::kQ8_0, quant::DType::kQ4_0, quant::DType::kQ4_1,
                                              quant::DType::kQ5_0, quant::DType::kQ5_1, quant::DType::kQ4_K,
                                              quant::DType::kQ5_K, quant::DType::kQ6_K};

class RandomWeights {
 public:
  explicit RandomWeights(std::uint32_t seed) : generator_(seed) {}

  float normal(float scale) { return std::normal_distribution<float>(0, scale)(generator_); }
  std::uint32_t below(std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(generator_); }

  /// Activations: mostly ordinary, with now and then one that dwarfs its neighbours or is denormal, zero or minus zero.
  std::vector<float> activations(std::size_t n, float scale) {
    std::vector<float> x(n);
    for (float& value : x) {
      value = normal(scale);
      switch (below(64)) {
        case 0:
          value *= 1e4F;
          break;
        case 1:
          value = 1e-41F;
          break;
        case 2:
          value = 0;
          break;
        case 3:
          value = -0.0F;
          break;
        default:
          break;
      }
    }
    return x;
  }

  /// One row of n_cols weights of about `scale` in the file's format; block formats get every code.
  std::vector<std::byte> row(quant::DType dtype, std::uint32_t n_cols, float scale) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(quant::row_bytes(dtype, n_cols)));
    if (quant::block_size(dtype) == 1) {
      const std::size_t size = quant::block_bytes(dtype);
      for (std::size_t i = 0; i < n_cols; ++i) {
        const float value = normal(scale);
        const std::uint16_t half = dtype == quant::DType::kF16 ? base::f32_to_f16(value) : base::f32_to_bf16(value);
        std::memcpy(&bytes[i * size], size == 4 ? static_cast<const void*>(&value) : &half, size);
      }
      return bytes;
    }
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(below(256));
    // Random bits make wild f16 scales; put sane ones in their places.
    const std::size_t block = quant::block_bytes(dtype);
    for (std::size_t at = 0; at < bytes.size(); at += block) {
      const auto put = [&](std::size_t offset, float value) {
        const std::uint16_t half = base::f32_to_f16(value);
        std::memcpy(&bytes[at + offset], &half, sizeof half);
      };
      switch (dtype) {
        case quant::DType::kQ4_1:
        case quant::DType::kQ5_1:
          put(0, normal(scale));
          put(2, normal(8 * scale));
          break;
        case quant::DType::kQ4_K:
        case quant::DType::kQ5_K:
          put(0, normal(scale / 32));
          put(2, normal(scale / 4));
          break;
        case quant::DType::kQ6_K:
          put(208, normal(scale / 64));
          break;
        default:
          put(0, normal(scale));
      }
    }
    return bytes;
  }

 private:
  std::mt19937 generator_;
};

}  // namespace lookback::kernels
