// Reads NumPy's .npy files (format 1.0, little-endian f4, f2, i4, C order), which is all that tests/data/golden holds.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/test_files.h"

namespace lookback::test {

struct Npy {
  std::vector<std::size_t> shape;
  std::vector<double> values;  // f2 and i4 fit exactly

  /// Element of an array, by its indices outer → inner.
  template <typename... Index>
  double operator()(Index... index) const {
    std::size_t at = 0;
    std::size_t dim = 0;
    ((at = at * shape[dim++] + static_cast<std::size_t>(index)), ...);
    return values.at(at);
  }
};

/// Source: IEEE 754 binary16.
inline double half_to_double(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const double mantissa = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

inline Npy read_npy(const std::string& path) {
  Npy npy;
  const auto bytes = read_bytes(path);
  const auto text = read_text(path);
  if (text.size() < 10 || text.substr(1, 5) != "NUMPY" || text[6] != 1) {
    ADD_FAILURE() << path << " is no .npy of format 1.0";
    return npy;
  }
  const std::size_t header_bytes = static_cast<unsigned char>(text[8]) + 256u * static_cast<unsigned char>(text[9]);
  const std::string header = text.substr(10, header_bytes);
  const auto after = [&](const std::string& key) {
    return header.substr(header.find("'" + key + "':") + key.size() + 3);
  };
  const std::string descr = after("descr").substr(2, 3);
  std::string dims = after("shape");
  dims = dims.substr(dims.find('(') + 1, dims.find(')') - dims.find('(') - 1);
  for (std::size_t at = 0; at < dims.size();) {
    const std::size_t digit = dims.find_first_of("0123456789", at);
    if (digit == std::string::npos) break;
    std::size_t length = 0;
    npy.shape.push_back(std::stoul(dims.substr(digit), &length));
    at = digit + length;
  }
  const std::size_t n = std::accumulate(npy.shape.begin(), npy.shape.end(), std::size_t{1}, std::multiplies<>());
  const std::size_t width = descr == "<f2" ? 2 : 4;
  if (bytes.size() != 10 + header_bytes + n * width || after("fortran_order").find("False") > 2 ||
      (descr != "<f2" && descr != "<f4" && descr != "<i4")) {
    ADD_FAILURE() << path << ": " << header;
    return npy;
  }
  npy.values.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::byte* from = bytes.data() + 10 + header_bytes + i * width;
    if (descr == "<f2") {
      std::uint16_t half = 0;
      std::memcpy(&half, from, 2);
      npy.values.push_back(half_to_double(half));
    } else if (descr == "<f4") {
      float value = 0;
      std::memcpy(&value, from, 4);
      npy.values.push_back(static_cast<double>(value));
    } else {
      std::int32_t value = 0;
      std::memcpy(&value, from, 4);
      npy.values.push_back(value);
    }
  }
  return npy;
}

}  // namespace lookback::test
