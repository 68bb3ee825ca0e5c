#include "formats/onnx.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/support/byte_writer.h"
#include "tests/support/recording_sink.h"
#include "tests/support/test_files.h"
#include "tests/unit/formats/read_file.h"

namespace lookback::test {
namespace {

constexpr std::uint64_t kFloat = 1, kInt8 = 3, kInt32 = 6, kInt64 = 7, kFloat16 = 10,
                        kBFloat16 = 16;  // TensorProto.DataType

const std::string kData16(16, 'x');

/// TensorProto up to its name.
ProtobufWriter tensor_head(std::string_view name, std::span<const std::uint64_t> dims, std::uint64_t type) {
  ProtobufWriter tensor;
  for (const std::uint64_t dim : dims) tensor.varint(1, dim);
  return tensor.varint(2, type).text(8, name);
}

ProtobufWriter tensor_with_raw_data(std::string_view name, std::span<const std::uint64_t> dims, std::uint64_t type,
                                    std::string_view data) {
  return tensor_head(name, dims, type).text(9, data);
}

ProtobufWriter external_tensor(std::string_view name, std::span<const std::uint64_t> dims, std::string_view location,
                               std::string_view offset, std::string_view length) {
  ProtobufWriter tensor = tensor_head(name, dims, kFloat);
  tensor.message(13, ProtobufWriter().text(1, "location").text(2, location));
  if (!offset.empty()) tensor.message(13, ProtobufWriter().text(1, "offset").text(2, offset));
  if (!length.empty()) tensor.message(13, ProtobufWriter().text(1, "length").text(2, length));
  return tensor.varint(14, 1);
}

/// ModelProto: version, producer, graph, opset.
std::vector<std::byte> model(const ProtobufWriter& graph) {
  return ProtobufWriter()
      .varint(1, 8)
      .text(2, "pytorch")
      .message(7, graph)
      .message(8, ProtobufWriter().varint(2, 14))
      .done();
}

constexpr std::array<std::uint64_t, 2> kDims = {2, 2};

Result<void> read(const std::vector<std::byte>& bytes, const Delivery& delivery, RecordingSink& sink) {
  const auto reader = read_file("model.onnx", bytes, delivery, &sink);
  return reader ? Result<void>() : Result<void>(reader.error());
}

void expect_refused(const std::vector<std::byte>& bytes, ErrorCode code, const std::string& says) {
  for (const Delivery& delivery : deliveries()) {
    RecordingSink sink;
    const auto result = read(bytes, delivery, sink);
    ASSERT_FALSE(result.has_value()) << "pieces of " << delivery.piece << ", expected " << says;
    EXPECT_EQ(error_code_name(result.error().code), error_code_name(code)) << result.error().message;
    EXPECT_NE(result.error().message.find(says), std::string::npos) << result.error().message;
    EXPECT_TRUE(result.error().offset.has_value()) << result.error().message;
  }
}

void expect_tensor_refused(const ProtobufWriter& tensor, ErrorCode code, const std::string& says) {
  expect_refused(model(ProtobufWriter().message(5, tensor)), code, says);
}

TEST(Onnx, StreamsWeightsAndPassesOverConstants) {
  ProtobufWriter graph;
  graph.message(1, ProtobufWriter().text(1, "x").text(1, "w").text(2, "y").text(3, "/q_proj/MatMul").text(4, "MatMul"));
  graph.message(1, ProtobufWriter().text(1, "w").text(2, "t").text(3, "/later").text(4, "Transpose"));
  graph.message(5, tensor_with_raw_data("w", kDims, kFloat, kData16));
  graph.message(5, tensor_with_raw_data("axes", std::array<std::uint64_t, 1>{1}, kInt64, "12345678"));
  graph.message(5, tensor_with_raw_data("scalar", {}, kFloat16, "ab"));
  graph.message(5, tensor_head("roi", std::array<std::uint64_t, 1>{0}, kFloat));
  graph.message(11, ProtobufWriter().text(1, "input_ids"));
  for (const Delivery& delivery : deliveries()) {
    RecordingSink sink;
    const auto result = read(model(graph), delivery, sink);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    ASSERT_EQ(sink.directory->size(), 2U);
    EXPECT_EQ((*sink.directory)[0].consumer, "/q_proj/MatMul");
    EXPECT_EQ((*sink.directory)[0].consumer_op, "MatMul");
    EXPECT_EQ(sink.tensors.at("w").bytes, std::vector<std::byte>(16, std::byte{'x'}));
    EXPECT_EQ(sink.tensors.at("scalar").bytes.size(), 2U);
    EXPECT_EQ(sink.n_metadata, 1);
  }
}

TEST(Onnx, ReadsFloatDataAndPackedDims) {
  ProtobufWriter tensor;
  tensor.text(1, std::string_view("\x02\x02", 2)).varint(2, kFloat).text(4, kData16).text(8, "w");
  for (const Delivery& delivery : deliveries()) {
    RecordingSink sink;
    const auto result = read(model(ProtobufWriter().message(5, tensor)), delivery, sink);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    EXPECT_EQ(sink.tensors.at("w").info.shape, (std::vector<std::uint64_t>{2, 2}));
    EXPECT_EQ(sink.tensors.at("w").bytes.size(), 16U);
  }
}

/// A [2, 2] whose data is int32_data, packed as given.
ProtobufWriter tensor_with_int32_data(std::uint64_t type, std::string_view packed) {
  ProtobufWriter tensor;
  return tensor.text(1, std::string_view("\x02\x02", 2)).varint(2, type).text(5, packed).text(8, "w");
}

TEST(Onnx, ReadsHalvesFromInt32Data) {
  // 1, 127, 0x3C00, 0xFFFF: numbers of one, one, two and three bytes.
  const std::string_view packed("\x01\x7F\x80\x78\xFF\xFF\x03", 7);
  for (const std::uint64_t type : {kFloat16, kBFloat16}) {
    for (const Delivery& delivery : deliveries()) {
      RecordingSink sink;
      const auto result =
          read(model(ProtobufWriter().message(5, tensor_with_int32_data(type, packed))), delivery, sink);
      ASSERT_TRUE(result.has_value()) << result.error().message;
      const auto& read_back = sink.tensors.at("w");
      EXPECT_EQ(read_back.info.dtype, type == kFloat16 ? quant::DType::kF16 : quant::DType::kBF16);
      ByteWriter expected;
      for (const int bits : {0x0001, 0x007F, 0x3C00, 0xFFFF}) expected.number(static_cast<std::uint16_t>(bits));
      EXPECT_EQ(read_back.bytes, expected.done());
    }
  }
  RecordingSink sink;  // integers there are constants
  EXPECT_TRUE(read(model(ProtobufWriter().message(5, tensor_with_int32_data(kInt32, packed))), {4096, true}, sink));
  EXPECT_TRUE(sink.tensors.empty());
}

TEST(OnnxLies, InInt32Data) {
  const auto refused = [](std::string_view packed, const std::string& says) {
    expect_tensor_refused(tensor_with_int32_data(kFloat16, packed), ErrorCode::kBadHeader, says);
  };
  refused(std::string_view("\x01\x02\x03", 3), "int32_data holds the 8 bytes");
  refused(std::string_view("\x01\x02\x03\x84", 4), "int32_data ends inside a number");
  refused(std::string_view("\x01\x02\x03\x80\x80\x04", 6), "beyond the 16 bits of F16");
  refused("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", "beyond the 16 bits of F16");  // -1
  expect_tensor_refused(tensor_head("w", kDims, kFloat16).text(4, "12345678"), ErrorCode::kBadHeader, "neither");
  expect_tensor_refused(tensor_with_int32_data(kFloat16, "abcd").varint(2, kFloat), ErrorCode::kBadHeader, "neither");
  expect_tensor_refused(tensor_with_int32_data(kFloat16, "abcd").text(4, "1234"), ErrorCode::kBadHeader, "both");
}

/// A node with a subgraph of one node of this kind.
ProtobufWriter node_with_branch(std::string_view op) {
  const auto branch = ProtobufWriter().message(1, ProtobufWriter().text(1, "w").text(4, op));
  return ProtobufWriter()
      .text(1, "use_cache_branch")
      .text(3, "optimum::if")
      .text(4, "If")
      .message(5, ProtobufWriter().text(1, "then_branch").message(6, branch).varint(20, 5));
}

TEST(OnnxLies, InBranchesThatHoldTheNetwork) {
  for (const std::string op : {"MatMul", "Gemm"}) {
    expect_refused(model(ProtobufWriter().message(1, node_with_branch(op))), ErrorCode::kUnsupportedArchitecture,
                   "node \"optimum::if\": a branch inside it holds a " + op);
  }
  ProtobufWriter harmless;
  harmless.message(1, node_with_branch("Squeeze")).message(5, tensor_with_raw_data("w", kDims, kFloat, kData16));
  RecordingSink sink;
  const auto result = read(model(harmless), {4096, true}, sink);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(sink.tensors.size(), 1U);
}

TEST(Onnx, TakesExternalDataFromItsFile) {
  ProtobufWriter graph;
  graph.message(5, external_tensor("b", kDims, "w/model.onnx_data", "20", "16"));
  graph.message(5, external_tensor("a", std::array<std::uint64_t, 1>{1}, "w/model.onnx_data", "", ""));
  graph.message(5, external_tensor("c", kDims, "other", "0", ""));
  const std::vector<std::byte> bytes = model(graph);
  ByteWriter data;
  for (std::uint8_t i = 0; i < 40; ++i) data.number(i);
  for (const Delivery& delivery : deliveries()) {
    RecordingSink sink;
    const auto reader = read_file("model.onnx", bytes, delivery, &sink);
    ASSERT_TRUE(reader.has_value()) << reader.error().message;
    EXPECT_TRUE(sink.tensors.empty());
    EXPECT_EQ(sink.directory->size(), 3U);
    EXPECT_EQ((*reader)->external_files(), (std::vector<std::string>{"w/model.onnx_data", "other"}));

    const auto n_bytes = delivery.size_known ? std::optional<std::uint64_t>(data.size()) : std::nullopt;
    auto external = formats::FileReader::create_external(**reader, "w/model.onnx_data", n_bytes, &sink);
    ASSERT_TRUE(external.has_value()) << external.error().message;
    const auto fed = feed_in_pieces(**external, data.done(), delivery.piece);
    ASSERT_TRUE(fed.has_value()) << fed.error().message;
    EXPECT_EQ(sink.tensors.at("a").bytes[3], std::byte{3});
    EXPECT_EQ(sink.tensors.at("b").bytes[0], std::byte{20});
    EXPECT_EQ(sink.tensors.at("b").bytes.size(), 16U);

    RecordingSink cut_sink;
    auto cut = formats::FileReader::create_external(**reader, "w/model.onnx_data", std::nullopt, &cut_sink);
    ASSERT_TRUE(cut.has_value());
    const auto result = feed_in_pieces(**cut, std::span(data.done()).first(30), delivery.piece);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::kTruncated);
    EXPECT_FALSE(formats::FileReader::create_external(**reader, "w/model.onnx_data", 30, &cut_sink).has_value());
    EXPECT_FALSE(formats::FileReader::create_external(**reader, "unknown", std::nullopt, &cut_sink).has_value());
  }
}

TEST(Onnx, NamesTheExternalFileThatTheReferenceLacks) {
  RecordingSink sink;
  const auto reader =
      read_file("x.onnx", read_bytes("tests/data/reference/malformed/onnx_external_missing.onnx"), {4096, true}, &sink);
  ASSERT_TRUE(reader.has_value()) << reader.error().message;
  EXPECT_EQ((*reader)->external_files(), std::vector<std::string>{"weights_that_do_not_exist.bin"});
  EXPECT_EQ(sink.directory->size(), sink.tensors.size() + 1);
}

TEST(OnnxLies, InExternalData) {
  for (const std::string location : {"", "/etc/passwd", "../model", "a/../../b", "a\\b", "http://x/y"}) {
    expect_tensor_refused(external_tensor("w", kDims, location, "0", "16"), ErrorCode::kBadHeader, "location");
  }
  for (const std::string offset : {"-1", "x", "1x", "99999999999999999999"}) {
    expect_tensor_refused(external_tensor("w", kDims, "f", offset, "16"), ErrorCode::kBadHeader, "offset");
  }
  ProtobufWriter graph;
  graph.message(5, external_tensor("a", kDims, "f", "0", ""));
  graph.message(5, external_tensor("b", kDims, "f", "8", ""));
  RecordingSink sink;
  const auto reader = read_file("model.onnx", model(graph), {4096, true}, &sink);
  ASSERT_TRUE(reader.has_value());
  const auto external = formats::FileReader::create_external(**reader, "f", std::nullopt, &sink);
  ASSERT_FALSE(external.has_value());
  EXPECT_EQ(external.error().code, ErrorCode::kBadOffset);

  RecordingSink other;
  const auto short_one =
      read_file("model.onnx", model(ProtobufWriter().message(5, external_tensor("w", kDims, "f", "0", "15"))),
                {4096, true}, &other);
  ASSERT_TRUE(short_one.has_value());
  const auto refused = formats::FileReader::create_external(**short_one, "f", std::nullopt, &other);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kBadHeader);
  EXPECT_NE(refused.error().message.find("\"w\": external data of 15 bytes"), std::string::npos)
      << refused.error().message;
}

TEST(OnnxLies, InTensors) {
  expect_tensor_refused(tensor_with_raw_data("w", kDims, kFloat, "short"), ErrorCode::kBadHeader,
                        "\"w\": raw_data holds 5 bytes");
  expect_tensor_refused(tensor_head("w", kDims, kFloat), ErrorCode::kBadHeader, "neither raw_data nor float_data");
  expect_tensor_refused(tensor_head("w", kDims, kFloat).text(4, "odd"), ErrorCode::kBadHeader, "neither");
  expect_tensor_refused(tensor_with_raw_data("w", kDims, kInt8, "1234"), ErrorCode::kUnsupportedDtype,
                        "data type 3 (INT8)");
  expect_tensor_refused(tensor_with_raw_data("w", kDims, 99, "1234"), ErrorCode::kUnsupportedDtype, "data type 99");
  expect_tensor_refused(ProtobufWriter().varint(1, 4).varint(2, kFloat).text(9, kData16), ErrorCode::kBadHeader,
                        "before name");
  expect_tensor_refused(tensor_with_raw_data("w", kDims, kFloat, kData16).varint(1, 2), ErrorCode::kBadHeader,
                        "dims stand after");
  expect_tensor_refused(tensor_with_raw_data("w", kDims, kFloat, kData16).text(9, kData16), ErrorCode::kBadHeader,
                        "twice");
  expect_tensor_refused(tensor_head("w", kDims, kFloat).text(8, "v"), ErrorCode::kBadHeader, "name stands twice");
  expect_tensor_refused(tensor_with_raw_data("w", std::array<std::uint64_t, 1>{~0ULL}, kFloat, kData16),
                        ErrorCode::kBadHeader, "dimension -1");
  expect_tensor_refused(
      tensor_with_raw_data("w", std::array<std::uint64_t, 2>{1ULL << 40, 1ULL << 40}, kFloat, kData16),
      ErrorCode::kBadHeader, "overflows");
  expect_tensor_refused(
      tensor_with_raw_data("w", std::array<std::uint64_t, 9>{1, 1, 1, 1, 1, 1, 1, 1, 1}, kFloat, "1234"),
      ErrorCode::kBadHeader, "more than 8 dimensions");
}

TEST(OnnxLies, InTheGraph) {
  ProtobufWriter twice;
  twice.message(5, tensor_with_raw_data("w", kDims, kFloat, kData16));
  twice.message(5, tensor_with_raw_data("w", kDims, kFloat, kData16));
  expect_refused(model(twice), ErrorCode::kDuplicateTensor, "\"w\": stands twice");

  ProtobufWriter late_node;
  late_node.message(5, tensor_with_raw_data("w", kDims, kFloat, kData16));
  late_node.message(1, ProtobufWriter().text(1, "w").text(4, "MatMul"));
  expect_refused(model(late_node), ErrorCode::kBadHeader, "node stands after an initializer");

  expect_refused(model(ProtobufWriter().message(15, ProtobufWriter())), ErrorCode::kUnsupportedDtype, "sparse");
  expect_refused(ProtobufWriter().varint(1, 8).text(2, "pytorch").done(), ErrorCode::kBadHeader, "no graph");
  expect_refused(ProtobufWriter().varint(1, 8).message(7, ProtobufWriter()).message(7, ProtobufWriter()).done(),
                 ErrorCode::kBadHeader, "graph stands twice");
  expect_refused(model(ProtobufWriter().message(1, ProtobufWriter().text(3, std::string(70'000, 'n')))),
                 ErrorCode::kBadHeader, "a name of 70000 bytes");
}

TEST(OnnxLies, InTheWireFormat) {
  const auto start = [] { return ProtobufWriter().varint(1, 8).text(2, "pytorch"); };
  expect_refused(start().byte(0x3B).byte(0).done(), ErrorCode::kBadHeader, "wire type 3");
  expect_refused(start().byte(0x00).byte(0).done(), ErrorCode::kBadHeader, "no field number");
  ProtobufWriter endless = start();
  endless.byte(0x08);
  for (int i = 0; i < 11; ++i) endless.byte(0x80);
  expect_refused(endless.done(), ErrorCode::kBadHeader, "number without an end");
  ProtobufWriter huge = start();  // a length of 2^63
  huge.byte(0x3A);
  for (int i = 0; i < 9; ++i) huge.byte(0x80);
  expect_refused(huge.byte(1).done(), ErrorCode::kBadHeader, "length beyond 2 GiB");
  // A node longer than the graph that holds it.
  expect_refused(start().message(7, ProtobufWriter().byte(0x0A).byte(100)).byte(0).done(), ErrorCode::kBadHeader,
                 "runs past the end of its message");
  // A number that begins inside the graph and ends outside.
  expect_refused(start().message(7, ProtobufWriter().byte(0x08).byte(0x80)).byte(0).byte(0).done(),
                 ErrorCode::kBadHeader, "runs past the end of its message");
}

TEST(OnnxLies, AnyCutIsTruncated) {
  const std::vector<std::byte> whole =
      model(ProtobufWriter().message(5, tensor_with_raw_data("w", kDims, kFloat, kData16)));
  const std::size_t n_before_graph = 2 + 9;
  const std::size_t n_graph_end = whole.size() - 4;
  for (std::size_t n = n_before_graph + 1; n < n_graph_end; ++n) {
    for (const bool size_known : {false, true}) {
      RecordingSink sink;
      const auto reader = read_file("cut.onnx", std::span(whole).first(n), {1, size_known}, &sink);
      ASSERT_FALSE(reader.has_value()) << n;
      EXPECT_EQ(error_code_name(reader.error().code), "truncated") << n << " " << reader.error().message;
    }
  }
}

}  // namespace
}  // namespace lookback::test
