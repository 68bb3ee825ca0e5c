// ONNX external data: where an initializer's bytes are when they are not in the model, and the reader of such a file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/file_reader.h"
#include "formats/tensor_stream.h"

namespace lookback::formats {

/// TensorProto.external_data: "location", "offset", "length", all as text.
using OnnxExternalEntries = std::map<std::string, std::string, std::less<>>;

/// A tensor whose data is in another file.
struct OnnxExternalTensor {
  std::string file;
  std::uint64_t n_bytes;  ///< as claimed; what the tensor needs where nothing is claimed
  TensorInfo tensor;      ///< offset: in that file
};

/// Errors: bad_header, without file and tensor's name: a location that is no relative name of a file beside the model or below
/// it, numbers that are none.
Result<OnnxExternalTensor> onnx_external_tensor(const OnnxExternalEntries& entries, TensorInfo tensor);

/// A file of external data: slices by offset and length, in any order, with bytes of no tensor between them.
class OnnxExternalReader final : public FormatReader {
 public:
  static Result<std::unique_ptr<FormatReader>> create(std::string file, std::optional<std::uint64_t> n_bytes,
                                                      std::vector<TensorInfo> tensors, TensorSink* sink);

  Result<void> feed(std::span<const std::byte> bytes) override { return stream_.feed(bytes); }
  Result<void> finish() override { return stream_.finish(); }
  bool header_complete() const override { return true; }
  Format format() const override { return Format::kOnnx; }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const Metadata& metadata() const override { return metadata_; }

 private:
  OnnxExternalReader(std::string file, std::vector<TensorInfo> tensors, TensorSink* sink);

  Metadata metadata_;  // stays empty
  std::vector<TensorInfo> tensors_;
  TensorStream stream_;
};

}  // namespace lookback::formats
