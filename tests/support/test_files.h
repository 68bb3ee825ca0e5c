// Reading files of tests/data. A file that is not there fails the test.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace lookback::test {

/// path: from the source folder, where tests run.
inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path << " cannot be read";
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::vector<std::byte> read_bytes(const std::string& path) {
  const std::string text = read_text(path);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline nlohmann::json read_json(const std::string& path) {
  nlohmann::json json = nlohmann::json::parse(read_text(path), nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << path << " is no JSON";
  return json;
}

}  // namespace lookback::test
