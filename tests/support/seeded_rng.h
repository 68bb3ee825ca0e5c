// Random numbers that are the same on every platform: std::mt19937 is, its distributions are not.
#pragma once

#include <cstdint>
#include <random>

namespace lookback::test {

class SeededRng {
 public:
  explicit SeededRng(std::uint32_t seed) : engine_(seed) {}
  /// [0, 1)
  double uniform() { return static_cast<double>(engine_()) * (1.0 / 4294967296.0); }
  /// [low, high)
  float uniform(float low, float high) { return low + static_cast<float>(uniform()) * (high - low); }
  /// 0 … n-1
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(uniform() * n); }

 private:
  std::mt19937 engine_;
};

}  // namespace lookback::test
