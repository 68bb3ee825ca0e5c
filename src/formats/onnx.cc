#include "formats/onnx.h"

#include <algorithm>
#include <limits>

#include "formats/limits.h"
#include "formats/refusal.h"

namespace lookback::formats {
namespace {

// Field numbers of onnx.proto.
constexpr std::uint32_t kModelGraph = 7;
constexpr std::uint32_t kGraphNode = 1, kGraphInitializer = 5, kGraphSparseInitializer = 15;
constexpr std::uint32_t kNodeInput = 1, kNodeName = 3, kNodeOpType = 4, kNodeAttribute = 5;
constexpr std::uint32_t kAttributeGraph = 6, kAttributeGraphs = 11;
constexpr std::uint32_t kTensorDims = 1, kTensorDataType = 2, kTensorFloatData = 4, kTensorInt32Data = 5,
                        kTensorName = 8, kTensorRawData = 9, kTensorExternalData = 13, kTensorDataLocation = 14;
constexpr std::uint32_t kEntryKey = 1, kEntryValue = 2;

constexpr std::uint64_t kDataLocationExternal = 1;  // TensorProto.DataLocation.EXTERNAL

/// TensorProto.DataType, for messages; the index is the number.
constexpr std::string_view kDataTypeNames[] = {
    "UNDEFINED", "FLOAT",        "UINT8",          "INT8",       "UINT16",         "INT16",  "INT32",     "INT64",
    "STRING",    "BOOL",         "FLOAT16",        "DOUBLE",     "UINT32",         "UINT64", "COMPLEX64", "COMPLEX128",
    "BFLOAT16",  "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "UINT4",  "INT4",      "FLOAT4E2M1"};

std::optional<quant::DType> dtype_of(std::uint64_t data_type) {
  switch (data_type) {
    case 1:
      return quant::DType::kF32;
    case 10:
      return quant::DType::kF16;
    case 16:
      return quant::DType::kBF16;
    default:
      return std::nullopt;
  }
}

/// 16- to 64-bit integers, strings, booleans, doubles: shapes, axes and the like. 8 bits and fewer are quantised weights.
bool is_constant_type(std::uint64_t data_type) {
  return (data_type >= 4 && data_type <= 9) || (data_type >= 11 && data_type <= 13);
}

}  // namespace

OnnxReader::OnnxReader(std::string file, std::optional<std::uint64_t> n_bytes, TensorSink* sink)
    : file_(std::move(file)), sink_(sink), stream_(file_, n_bytes, this) {}

Result<void> OnnxReader::finish() {
  LOOKBACK_TRY(stream_.finish());
  if (!graph_seen_) return refuse(ErrorCode::kBadHeader, file_, "the model holds no graph", stream_.offset());
  graph_ = {};
  names_.clear();
  finished_ = true;
  return sink_->on_directory(tensors_);
}

Error OnnxReader::bad_tensor(ErrorCode code, const std::string& what) const {
  return refuse(code, file_, "initializer " + in_quotes(initializer_.name) + ": " + what, initializer_.offset);
}

Result<void> OnnxReader::on_varint(ProtobufField field, std::uint64_t value) {
  if (field.message != kTensor) return {};
  if (field.number == kTensorDims) return add_dim(value);
  if (field.number == kTensorDataType) initializer_.data_type = value;
  if (field.number == kTensorDataLocation) initializer_.external = value == kDataLocationExternal;
  if (initializer_.streamed && field.number == kTensorDataType) {
    return bad_tensor(ErrorCode::kBadHeader, "its type stands after its raw_data");
  }
  return {};
}

Result<void> OnnxReader::add_dim(std::uint64_t dim) {
  if (initializer_.streamed) return bad_tensor(ErrorCode::kBadHeader, "its dims stand after its raw_data");
  if (dim > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return bad_tensor(ErrorCode::kBadHeader,
                      "dimension " + std::to_string(static_cast<std::int64_t>(dim)) + ", expected at least 0");
  }
  if (initializer_.dims.size() == kMaxDims) {
    return bad_tensor(ErrorCode::kBadHeader, "more than " + std::to_string(kMaxDims) + " dimensions");
  }
  initializer_.dims.push_back(dim);
  return {};
}

Result<LengthUse> OnnxReader::on_length(ProtobufField field, std::uint64_t n_bytes, std::uint64_t offset) {
  const auto text = [&](std::uint64_t longest) -> Result<LengthUse> {
    if (n_bytes <= longest) return LengthUse{LengthUse::Way::kText};
    return refuse(ErrorCode::kBadHeader, file_,
                  "a name of " + std::to_string(n_bytes) + " bytes, expected at most " + std::to_string(longest),
                  offset);
  };
  switch (field.message) {
    case kModel:
      if (field.number != kModelGraph) return LengthUse{};
      if (graph_seen_) return refuse(ErrorCode::kBadHeader, file_, "the model's graph stands twice", offset);
      graph_seen_ = true;
      LOOKBACK_TRY(sink_->on_metadata(metadata_));
      return LengthUse{LengthUse::Way::kMessage, kGraph};
    case kGraph:
      return graph_length(field, offset);
    case kNode:
      if (field.number == kNodeInput || field.number == kNodeName || field.number == kNodeOpType)
        return text(kMaxNameBytes);
      if (field.number == kNodeAttribute) return LengthUse{LengthUse::Way::kMessage, kAttribute};
      return LengthUse{};
    case kAttribute:
      if (field.number == kAttributeGraph || field.number == kAttributeGraphs)
        return LengthUse{LengthUse::Way::kMessage, kSubgraph};
      return LengthUse{};
    case kSubgraph:
      subgraph_offset_ = offset;
      return field.number == kGraphNode ? LengthUse{LengthUse::Way::kMessage, kSubgraphNode} : LengthUse{};
    case kSubgraphNode:
      return field.number == kNodeOpType ? text(kMaxNameBytes) : LengthUse{};
    case kTensor:
      if (field.number == kTensorName) return text(kMaxNameBytes);
      return tensor_length(field, n_bytes, offset);
    default:
      return field.number == kEntryKey || field.number == kEntryValue ? text(kMaxNameBytes) : LengthUse{};
  }
}

Result<LengthUse> OnnxReader::graph_length(ProtobufField field, std::uint64_t offset) {
  switch (field.number) {
    case kGraphNode:
      if (!names_.empty()) {
        return refuse(ErrorCode::kBadHeader, file_, "a node stands after an initializer; such an order is not read",
                      offset);
      }
      if (graph_.n_nodes() == kMaxEntries) {
        return refuse(ErrorCode::kBadHeader, file_, "more than " + std::to_string(kMaxEntries) + " nodes", offset);
      }
      return LengthUse{LengthUse::Way::kMessage, kNode};
    case kGraphInitializer:
      if (names_.size() == kMaxEntries) {
        return refuse(ErrorCode::kBadHeader, file_, "more than " + std::to_string(kMaxEntries) + " initializers",
                      offset);
      }
      initializer_ = {};
      initializer_.offset = offset;
      return LengthUse{LengthUse::Way::kMessage, kTensor};
    case kGraphSparseInitializer:
      return refuse(ErrorCode::kUnsupportedDtype, file_, "sparse initializers are not read", offset);
    default:
      return LengthUse{};
  }
}

Result<LengthUse> OnnxReader::tensor_length(ProtobufField field, std::uint64_t n_bytes, std::uint64_t offset) {
  switch (field.number) {
    case kTensorDims:  // packed, as proto3 writers put them
      if (n_bytes > 10 * kMaxDims)
        return bad_tensor(ErrorCode::kBadHeader, "more than " + std::to_string(kMaxDims) + " dimensions");
      return LengthUse{LengthUse::Way::kText};
    case kTensorFloatData:
      return float_data(n_bytes, offset);
    case kTensorInt32Data:
      return int32_data(n_bytes, offset);
    case kTensorRawData:
      return raw_data(n_bytes, offset);
    case kTensorExternalData:
      entry_key_.clear();
      entry_value_.clear();
      return LengthUse{LengthUse::Way::kMessage, kExternalEntry};
    default:
      return LengthUse{};
  }
}

/// Weights stream to the sink at once. An empty raw_data says nothing: external data may follow.
Result<LengthUse> OnnxReader::raw_data(std::uint64_t n_bytes, std::uint64_t offset) {
  if (n_bytes == 0) return LengthUse{};
  if (initializer_.streamed) return bad_tensor(ErrorCode::kBadHeader, "raw_data stands twice");
  if (initializer_.name.empty() || initializer_.data_type == 0) {
    return bad_tensor(ErrorCode::kBadHeader, "raw_data stands before name and type; such an order is not read");
  }
  auto kind_here = kind();
  if (!kind_here) return kind_here.error();
  if (*kind_here == Kind::kConstant) return LengthUse{};
  initializer_.data_offset = offset;
  auto tensor = tensor_info();
  if (!tensor) return tensor.error();
  if (tensor->n_bytes != n_bytes) {
    return bad_tensor(ErrorCode::kBadHeader, "raw_data holds " + std::to_string(n_bytes) + " bytes, " +
                                                 std::string(quant::dtype_name(tensor->dtype)) + " " +
                                                 shape_text(tensor->shape) + " needs " +
                                                 std::to_string(tensor->n_bytes));
  }
  initializer_.streamed = true;
  LOOKBACK_TRY(sink_->begin_tensor(*tensor));
  tensors_.push_back(std::move(*tensor));
  return LengthUse{LengthUse::Way::kBulk};
}

/// float_data and int32_data stand before the name, so they are kept until the initializer ends.
Result<LengthUse> OnnxReader::collect(quant::DType dtype, std::string_view field, std::uint64_t n_bytes,
                                      std::uint64_t offset) {
  // An element of int32_data takes one to three bytes there and two here.
  const std::uint64_t n_here = dtype == quant::DType::kF32 ? n_bytes : 2 * n_bytes;
  if (n_here > kMaxFloatDataBytes - initializer_.float_data.size()) {
    return bad_tensor(ErrorCode::kBadHeader,
                      std::string(field) + " of " + std::to_string(n_bytes) + " bytes, expected raw_data for so many");
  }
  if (initializer_.float_data_as.value_or(dtype) != dtype) {
    return bad_tensor(ErrorCode::kBadHeader, "both float_data and int32_data");
  }
  initializer_.float_data_as = dtype;
  if (initializer_.float_data.empty()) initializer_.data_offset = offset;
  collecting_ = dtype == quant::DType::kF32 ? Collecting::kFloats : Collecting::kHalves;
  half_ = {};
  return LengthUse{LengthUse::Way::kBulk};
}

Result<LengthUse> OnnxReader::float_data(std::uint64_t n_bytes, std::uint64_t offset) {
  return collect(quant::DType::kF32, "float_data", n_bytes, offset);
}

/// The bits of F16 and BF16 as packed numbers, one an element. Integers are constants: passed over.
Result<LengthUse> OnnxReader::int32_data(std::uint64_t n_bytes, std::uint64_t offset) {
  const auto dtype = dtype_of(initializer_.data_type);
  if (!dtype || *dtype == quant::DType::kF32) return LengthUse{};
  return collect(*dtype, "int32_data", n_bytes, offset);
}

Result<void> OnnxReader::add_halves(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    half_.value |= static_cast<std::uint32_t>(byte & std::byte{0x7F}) << half_.shift;
    if ((byte & std::byte{0x80}) != std::byte{0}) {
      half_.shift += 7;
    } else if (half_.value <= 0xFFFF) {
      initializer_.float_data.push_back(static_cast<std::byte>(half_.value & 0xFF));
      initializer_.float_data.push_back(static_cast<std::byte>(half_.value >> 8));
      half_ = {};
      continue;
    }
    if (half_.shift > 14 || half_.value > 0xFFFF) {
      return bad_tensor(ErrorCode::kBadHeader, "int32_data holds a number beyond the 16 bits of " +
                                                   std::string(quant::dtype_name(*initializer_.float_data_as)));
    }
  }
  return {};
}

Result<void> OnnxReader::on_bulk(std::span<const std::byte> bytes) {
  if (collecting_ == Collecting::kNothing) return sink_->tensor_bytes(bytes);
  if (collecting_ == Collecting::kHalves) return add_halves(bytes);
  initializer_.float_data.insert(initializer_.float_data.end(), bytes.begin(), bytes.end());
  return {};
}

Result<void> OnnxReader::on_bulk_end() {
  if (collecting_ == Collecting::kNothing) return sink_->end_tensor();
  const bool ended_inside = collecting_ == Collecting::kHalves && half_.shift != 0;
  collecting_ = Collecting::kNothing;
  if (ended_inside) return bad_tensor(ErrorCode::kBadHeader, "int32_data ends inside a number");
  return {};
}

Result<void> OnnxReader::on_text(ProtobufField field, std::string_view text) {
  if (field.message == kNode) {
    if (field.number == kNodeInput) graph_.add_input(text);
    if (field.number == kNodeName) graph_.set_name(text);
    if (field.number == kNodeOpType) graph_.set_op(text);
  } else if (field.message == kSubgraphNode) {
    return check_subgraph_op(text);
  } else if (field.message == kExternalEntry) {
    (field.number == kEntryKey ? entry_key_ : entry_value_) = text;
  } else if (field.number == kTensorDims) {
    base::ByteReader in(std::as_bytes(std::span(text)));
    while (in.left() > 0) {
      const std::optional<std::uint64_t> dim = read_varint(in);
      if (!in.ok() || !dim) return bad_tensor(ErrorCode::kBadHeader, "packed dims end inside a number");
      LOOKBACK_TRY(add_dim(*dim));
    }
  } else {  // a tensor's name
    if (!initializer_.name.empty()) return bad_tensor(ErrorCode::kBadHeader, "its name stands twice");
    initializer_.name = text;
    if (!names_.emplace(text).second) return bad_tensor(ErrorCode::kDuplicateTensor, "stands twice");
  }
  return {};
}

/// Exports whose network is in the branches of an If, one with and one without a cache ("merged decoders"), name no weight
/// in the graph that is read here. Branches that only shape things do no harm.
Result<void> OnnxReader::check_subgraph_op(std::string_view op) const {
  if (op != "MatMul" && op != "Gemm") return {};
  return refuse(ErrorCode::kUnsupportedArchitecture, file_,
                "node " + in_quotes(graph_.name()) + ": a branch inside it holds a " + std::string(op) +
                    "; such an export (a merged decoder) is not read, expected one with the network in the main graph",
                subgraph_offset_);
}

Result<void> OnnxReader::on_message_end(int message) {
  if (message == kNode) graph_.node_done();
  if (message == kExternalEntry) initializer_.external_data[entry_key_] = entry_value_;
  if (message == kTensor) return initializer_done();
  return {};
}

Result<OnnxReader::Kind> OnnxReader::kind() const {
  const std::uint64_t type = initializer_.data_type;
  if (dtype_of(type)) return Kind::kWeight;
  if (is_constant_type(type)) return Kind::kConstant;
  const std::string name(type < std::size(kDataTypeNames) ? kDataTypeNames[type] : "unknown");
  return bad_tensor(ErrorCode::kUnsupportedDtype,
                    "data type " + std::to_string(type) + " (" + name + "), expected FLOAT, FLOAT16 or BFLOAT16");
}

/// Of a weight, by what is known of the initializer; offset is where its data begins.
Result<TensorInfo> OnnxReader::tensor_info() const {
  const quant::DType dtype = *dtype_of(initializer_.data_type);
  auto n_bytes = tensor_bytes_needed(file_, initializer_.name, dtype, initializer_.dims, initializer_.offset);
  if (!n_bytes) return n_bytes.error();
  const OnnxNode* reader = graph_.first_reader(initializer_.name);
  return TensorInfo{initializer_.name,
                    reader != nullptr ? reader->name : "",
                    reader != nullptr ? reader->op : "",
                    dtype,
                    initializer_.dims,
                    *n_bytes,
                    initializer_.data_offset};
}

Result<void> OnnxReader::initializer_done() {
  if (initializer_.streamed) return {};
  if (initializer_.name.empty()) return bad_tensor(ErrorCode::kBadHeader, "it has no name");
  auto kind_here = kind();
  if (!kind_here) return kind_here.error();
  // Constants may be empty, floats too ("roi" of a Resize): they are no weights.
  const bool empty = std::find(initializer_.dims.begin(), initializer_.dims.end(), 0U) != initializer_.dims.end();
  if (*kind_here == Kind::kConstant || empty) return {};
  auto tensor = tensor_info();
  if (!tensor) return tensor.error();
  if (initializer_.external) return add_external(std::move(*tensor));
  const std::vector<std::byte>& data = initializer_.float_data;
  if (data.size() != tensor->n_bytes || initializer_.float_data_as != tensor->dtype) {
    return bad_tensor(ErrorCode::kBadHeader, std::string("neither raw_data nor ") +
                                                 (tensor->dtype == quant::DType::kF32 ? "float_data" : "int32_data") +
                                                 " holds the " + std::to_string(tensor->n_bytes) + " bytes of " +
                                                 std::string(quant::dtype_name(tensor->dtype)) + " " +
                                                 shape_text(tensor->shape));
  }
  LOOKBACK_TRY(sink_->begin_tensor(*tensor));
  tensors_.push_back(std::move(*tensor));
  LOOKBACK_TRY(sink_->tensor_bytes(data));
  initializer_.float_data = {};
  return sink_->end_tensor();
}

Result<void> OnnxReader::add_external(TensorInfo tensor) {
  auto external = onnx_external_tensor(initializer_.external_data, std::move(tensor));
  if (!external) return bad_tensor(external.error().code, external.error().message);
  tensors_.push_back(external->tensor);
  external_.push_back(std::move(*external));
  return {};
}

std::vector<std::string> OnnxReader::external_files() const {
  std::vector<std::string> files;
  for (const OnnxExternalTensor& external : external_) {
    if (std::find(files.begin(), files.end(), external.file) == files.end()) files.push_back(external.file);
  }
  return files;
}

Result<std::vector<TensorInfo>> OnnxReader::external_tensors(std::string_view file) const {
  std::vector<TensorInfo> tensors;
  for (const OnnxExternalTensor& external : external_) {
    if (external.file != file) continue;
    const TensorInfo& tensor = external.tensor;
    if (external.n_bytes != tensor.n_bytes) {
      return refuse(ErrorCode::kBadHeader, file_,
                    "initializer " + in_quotes(tensor.name) + ": external data of " + std::to_string(external.n_bytes) +
                        " bytes, " + std::string(quant::dtype_name(tensor.dtype)) + " " + shape_text(tensor.shape) +
                        " needs " + std::to_string(tensor.n_bytes),
                    tensor.offset);
    }
    tensors.push_back(tensor);
  }
  return tensors;
}

}  // namespace lookback::formats
