// ONNX: the initializers of a graph, streamed out of the protobuf in place; the graph itself only to name who reads them.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/file_reader.h"
#include "formats/onnx_external.h"
#include "formats/onnx_graph.h"
#include "formats/protobuf_stream.h"

namespace lookback::formats {

/// Float initializers (f32, f16, bf16) of the main graph go to the sink, those of integers, booleans and doubles (a graph's constants) are
/// passed over, quantised ones are refused. Nodes must stand before initializers, and a tensor's name, dims and type before its
/// raw_data, as every protobuf writer puts them (fields in the order of their numbers).
/// Source: onnx.proto (onnx 1.17); numbers of fields are stable.
class OnnxReader final : public FormatReader, private ProtobufHandler {
 public:
  OnnxReader(std::string file, std::optional<std::uint64_t> n_bytes, TensorSink* sink);

  Result<void> feed(std::span<const std::byte> bytes) override { return stream_.feed(bytes); }
  Result<void> finish() override;
  bool header_complete() const override { return finished_; }
  Format format() const override { return Format::kOnnx; }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const Metadata& metadata() const override { return metadata_; }
  std::vector<std::string> external_files() const override;
  /// Errors: bad_header where a length is not what dims and type need. Found out only here, so that a file that is missing
  /// is missed first.
  Result<std::vector<TensorInfo>> external_tensors(std::string_view file) const override;

 private:
  /// The messages that are entered; 0 is the outermost.
  enum Message : int { kModel, kGraph, kNode, kAttribute, kSubgraph, kSubgraphNode, kTensor, kExternalEntry };
  /// What is done with an initializer of this data type.
  enum class Kind { kWeight, kConstant };
  /// What the pieces of a bulk are; those of nothing collected go to the sink.
  enum class Collecting { kNothing, kFloats, kHalves };

  /// One TensorProto, as far as read.
  struct Initializer {
    std::uint64_t offset = 0;
    std::string name;
    std::vector<std::uint64_t> dims;
    std::uint64_t data_type = 0;
    bool external = false;
    OnnxExternalEntries external_data;
    std::vector<std::byte> float_data;          // from float_data or int32_data, as raw_data would hold it
    std::optional<quant::DType> float_data_as;  // what those bytes are
    bool streamed = false;                      // raw_data went to the sink
    std::uint64_t data_offset = 0;
  };

  Result<void> on_varint(ProtobufField field, std::uint64_t value) override;
  Result<LengthUse> on_length(ProtobufField field, std::uint64_t n_bytes, std::uint64_t offset) override;
  Result<void> on_text(ProtobufField field, std::string_view text) override;
  Result<void> on_bulk(std::span<const std::byte> bytes) override;
  Result<void> on_bulk_end() override;
  Result<void> on_message_end(int message) override;

  Result<LengthUse> graph_length(ProtobufField field, std::uint64_t offset);
  Result<LengthUse> tensor_length(ProtobufField field, std::uint64_t n_bytes, std::uint64_t offset);
  Result<LengthUse> raw_data(std::uint64_t n_bytes, std::uint64_t offset);
  Result<LengthUse> float_data(std::uint64_t n_bytes, std::uint64_t offset);
  Result<LengthUse> int32_data(std::uint64_t n_bytes, std::uint64_t offset);
  Result<LengthUse> collect(quant::DType dtype, std::string_view field, std::uint64_t n_bytes, std::uint64_t offset);
  Result<void> add_halves(std::span<const std::byte> bytes);
  Result<void> check_subgraph_op(std::string_view op) const;
  Result<void> add_dim(std::uint64_t dim);
  Result<void> initializer_done();
  Result<void> add_external(TensorInfo tensor);

  Result<Kind> kind() const;
  Result<TensorInfo> tensor_info() const;
  Error bad_tensor(ErrorCode code, const std::string& what) const;

  std::string file_;
  TensorSink* sink_;
  ProtobufStream stream_;
  bool graph_seen_ = false;
  bool finished_ = false;
  OnnxGraph graph_;
  Initializer initializer_;
  std::string entry_key_;
  std::string entry_value_;
  Collecting collecting_ = Collecting::kNothing;
  /// A number of int32_data, as far as read.
  struct {
    std::uint32_t value = 0;
    int shift = 0;
  } half_;
  std::uint64_t subgraph_offset_ = 0;  // of the field of a subgraph that was entered last
  std::set<std::string, std::less<>> names_;
  Metadata metadata_;  // stays empty
  std::vector<TensorInfo> tensors_;
  std::vector<OnnxExternalTensor> external_;
};

}  // namespace lookback::formats
