// The small reference models: every tensor as read and dequantised here against the numbers that were stored with them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "quant/dequantize.h"
#include "tests/support/recording_sink.h"
#include "tests/support/test_files.h"
#include "tests/unit/formats/read_file.h"

namespace lookback::test {
namespace {

const std::string kFolder = "tests/data/reference/tiny/";

std::vector<float> dequantize(const RecordingSink::Tensor& tensor) {
  std::uint64_t n_elements = 1;
  for (const std::uint64_t n : tensor.info.shape) n_elements *= n;
  std::vector<float> values(static_cast<std::size_t>(n_elements));
  quant::dequantize_row(tensor.info.dtype, tensor.bytes.data(),
                        values);  // rows are whole blocks, so all are one long row
  return values;
}

RecordingSink read_all(const std::string& file, const Delivery& delivery) {
  RecordingSink sink;
  const auto read = read_file(file, read_bytes(kFolder + file), delivery, &sink);
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return sink;
}

TEST(TinyGguf, TensorsHaveTheStoredSumsAndValues) {
  for (const std::string name : {"tiny-F32", "tiny-F16", "tiny-BF16", "tiny-Q8_0", "tiny-Q4_0", "tiny-Q4_1",
                                 "tiny-Q5_0", "tiny-Q5_1", "tiny-untied-F32", "tiny256-Q4_K", "tiny256-Q6_K"}) {
    const nlohmann::json expected = read_json(kFolder + name + ".expected.json")["tensors"];
    const RecordingSink sink = read_all(name + ".gguf", {5000, true});
    ASSERT_EQ(sink.tensors.size(), expected.size()) << name;
    for (const auto& [tensor_name, numbers] : expected.items()) {
      SCOPED_TRACE(name + ", " + tensor_name);
      ASSERT_TRUE(sink.tensors.contains(tensor_name));
      const RecordingSink::Tensor& tensor = sink.tensors.at(tensor_name);
      EXPECT_EQ(quant::dtype_name(tensor.info.dtype), numbers["type"].get<std::string>());
      const auto ne = numbers["ne"].get<std::vector<std::uint64_t>>();  // inner → outer
      EXPECT_EQ(tensor.info.shape, std::vector<std::uint64_t>(ne.rbegin(), ne.rend()));

      const std::vector<float> values = dequantize(tensor);
      double sum = 0;
      double sum_of_squares = 0;
      double sum_of_magnitudes = 0;
      for (const float value : values) {
        sum += value;
        sum_of_squares += double{value} * value;
        sum_of_magnitudes += std::abs(value);
      }
      // Stored with 9 digits; the maker may have summed in another order.
      EXPECT_NEAR(sum, numbers["sum"].get<double>(), 1e-8 * sum_of_magnitudes);
      EXPECT_NEAR(std::sqrt(sum_of_squares), numbers["l2"].get<double>(), 1e-8 * std::sqrt(sum_of_squares));
      const auto first = numbers["first8"].get<std::vector<double>>();
      const auto last = numbers["last4"].get<std::vector<double>>();
      for (std::size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(values[i], first[i], 1e-8 * std::abs(first[i]));
      for (std::size_t i = 0; i < last.size(); ++i) {
        EXPECT_NEAR(values[values.size() - last.size() + i], last[i], 1e-8 * std::abs(last[i]));
      }
    }
  }
}

TEST(TinyGguf, ArrivesTheSameInAnyPieces) {
  const RecordingSink whole = read_all("tiny-Q4_1.gguf", {std::size_t{1} << 30, true});
  for (const Delivery& delivery : deliveries()) {
    const RecordingSink pieces = read_all("tiny-Q4_1.gguf", delivery);
    ASSERT_EQ(pieces.tensors.size(), whole.tensors.size());
    for (const auto& [name, tensor] : whole.tensors) EXPECT_EQ(pieces.tensors.at(name).bytes, tensor.bytes) << name;
  }
}

// A GGUF stores the rows of q_proj and k_proj permuted; all else is the same model.
TEST(TinySafetensors, HoldsTheWeightsOfTheGguf) {
  for (const std::string dtype : {"F32", "F16", "BF16"}) {
    const RecordingSink hf = read_all("tiny-hf-" + dtype + "/model.safetensors", {977, true});
    const RecordingSink gguf = read_all("tiny-" + dtype + ".gguf", {977, true});
    const std::pair<std::string, std::string> same[] = {
        {"model.embed_tokens.weight", "token_embd.weight"},
        {"model.layers.0.self_attn.v_proj.weight", "blk.0.attn_v.weight"},
        {"model.layers.1.self_attn.o_proj.weight", "blk.1.attn_output.weight"},
        {"model.layers.2.mlp.down_proj.weight", "blk.2.ffn_down.weight"}};
    for (const auto& [hf_name, gguf_name] : same) {
      ASSERT_TRUE(hf.tensors.contains(hf_name));
      EXPECT_EQ(quant::dtype_name(hf.tensors.at(hf_name).info.dtype), dtype);
      EXPECT_EQ(hf.tensors.at(hf_name).info.shape, gguf.tensors.at(gguf_name).info.shape);
      EXPECT_EQ(hf.tensors.at(hf_name).bytes, gguf.tensors.at(gguf_name).bytes) << dtype << " " << hf_name;
    }
  }
}

/// consumer "/model/layers.0/self_attn/q_proj/MatMul" → "model.layers.0.self_attn.q_proj.weight"
std::string hf_name_of(const formats::TensorInfo& info) {
  std::string name = info.consumer.substr(1, info.consumer.size() - std::string("//MatMul").size());
  for (char& c : name) {
    if (c == '/') c = '.';
  }
  return name + ".weight";
}

TEST(TinyOnnx, HoldsTheWeightsOfTheCheckpoint) {
  const RecordingSink hf = read_all("tiny-hf-F32/model.safetensors", {1 << 20, true});
  for (const std::string file : {"tiny-onnx-optimum.onnx", "tiny-onnx-named.onnx"}) {
    const RecordingSink onnx = read_all(file, {977, false});
    std::size_t n_found = 0;
    for (const auto& [name, tensor] : onnx.tensors) {
      SCOPED_TRACE(file + ", " + name);
      if (tensor.info.consumer_op == "MatMul") {
        const std::string hf_name = hf_name_of(tensor.info);
        ASSERT_TRUE(hf.tensors.contains(hf_name)) << hf_name;
        const std::vector<float> ours = dequantize(tensor);
        const std::vector<float> theirs = dequantize(hf.tensors.at(hf_name));
        const auto n_in = static_cast<std::size_t>(tensor.info.shape[0]);
        const auto n_out = static_cast<std::size_t>(tensor.info.shape[1]);
        ASSERT_EQ(hf.tensors.at(hf_name).info.shape, (std::vector<std::uint64_t>{n_out, n_in}));
        bool equal = true;
        for (std::size_t i = 0; i < n_in; ++i) {
          for (std::size_t o = 0; o < n_out; ++o) equal = equal && ours[i * n_out + o] == theirs[o * n_in + i];
        }
        EXPECT_TRUE(equal);
        ++n_found;
      } else if (hf.tensors.contains(name)) {
        EXPECT_EQ(tensor.bytes, hf.tensors.at(name).bytes);
        EXPECT_EQ(tensor.info.shape, hf.tensors.at(name).info.shape);
        ++n_found;
      }
    }
    EXPECT_EQ(n_found, hf.tensors.size()) << file;
    EXPECT_EQ(onnx.tensors.at("model.embed_tokens.weight").info.consumer, "/model/embed_tokens/Gather");
  }
}

}  // namespace
}  // namespace lookback::test
