// TensorInfo and TensorSink: what a weights file holds, and who receives it while it streams in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/metadata.h"
#include "lookback/result.h"
#include "quant/dtype.h"

namespace lookback::formats {

/// One tensor of a file. Sizes are checked before anyone sees it: no dimension is 0, the product does not overflow, and
/// n_bytes is exactly what dtype and shape need.
struct TensorInfo {
  std::string name;         ///< as in the file
  std::string consumer;     ///< ONNX: the first node that reads it, "/model/layers.0/self_attn/q_proj/MatMul"
  std::string consumer_op;  ///< ONNX: that node's operator; a matrix read by "MatMul" is stored [in, out]
  quant::DType dtype;
  std::vector<std::uint64_t> shape;  ///< outer → inner, so a matrix is [rows, cols] = [out, in]; a scalar's is empty
  std::uint64_t n_bytes;
  std::uint64_t offset;  ///< byte position in the file that holds the data
};

/// Receives a file's contents in file order. An error that it returns stops the reader, which hands it on unchanged.
class TensorSink {
 public:
  virtual ~TensorSink() = default;

  /// Once, before any tensor. Only GGUF carries metadata; safetensors and ONNX give an empty one.
  virtual Result<void> on_metadata(const Metadata& metadata) = 0;
  /// Once, with every tensor of the file. GGUF, safetensors: before the first tensor; ONNX: at the end of the file, for
  /// the names are spread between the data, with the tensors whose data is in other files among them.
  virtual Result<void> on_directory(std::span<const TensorInfo> tensors) = 0;

  virtual Result<void> begin_tensor(const TensorInfo& tensor) = 0;
  /// Consecutive pieces of the tensor that began last, of any length but 0; n_bytes in all.
  virtual Result<void> tensor_bytes(std::span<const std::byte> bytes) = 0;
  virtual Result<void> end_tensor() = 0;
};

}  // namespace lookback::formats
