#include "quant/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "tests/support/test_files.h"

namespace lookback::test {
namespace {

constexpr quant::DType kAll[] = {quant::DType::kF32,  quant::DType::kF16,  quant::DType::kBF16, quant::DType::kQ8_0,
                                 quant::DType::kQ4_0, quant::DType::kQ4_1, quant::DType::kQ5_0, quant::DType::kQ5_1,
                                 quant::DType::kQ4_K, quant::DType::kQ5_K, quant::DType::kQ6_K};

std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

TEST(DequantizeRow, GivesTheBitsOfLlamaCppsPackage) {
  const nlohmann::json formats = read_json("tests/data/quant/blocks.json")["formats"];
  ASSERT_EQ(formats.size(), std::size(kAll));
  for (const quant::DType dtype : kAll) {
    const std::string name(quant::dtype_name(dtype));
    ASSERT_TRUE(formats.contains(name)) << name;
    const nlohmann::json& expected = formats[name];
    EXPECT_EQ(quant::block_size(dtype), expected["block_size"].get<std::uint32_t>()) << name;
    EXPECT_EQ(quant::block_bytes(dtype), expected["block_bytes"].get<std::uint32_t>()) << name;
    const auto bits = expected["f32_bits"].get<std::vector<std::uint32_t>>();
    const auto bytes = from_hex(expected["bytes"].get<std::string>());
    ASSERT_EQ(bytes.size(), quant::row_bytes(dtype, bits.size())) << name;
    // At an odd address too: rows of a file lie anywhere.
    for (const std::size_t shift : {std::size_t{0}, std::size_t{1}}) {
      std::vector<std::byte> moved(shift);
      moved.insert(moved.end(), bytes.begin(), bytes.end());
      std::vector<float> values(bits.size());
      quant::dequantize_row(dtype, moved.data() + shift, values);
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), bits[i]) << name << "[" << i << "] = " << values[i];
      }
    }
  }
}

TEST(RowBytes, CountsBlocks) {
  EXPECT_EQ(quant::row_bytes(quant::DType::kQ4_1, 576), 360U);
  EXPECT_EQ(quant::row_bytes(quant::DType::kQ6_K, 512), 420U);
  EXPECT_EQ(quant::row_bytes(quant::DType::kF32, 0), 0U);
  EXPECT_DEATH_IF_SUPPORTED(quant::row_bytes(quant::DType::kQ8_0, 20), "whole blocks");
}

}  // namespace
}  // namespace lookback::test
