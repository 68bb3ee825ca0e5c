// safetensors: u64 header length, a JSON header, then the tensors' bytes without holes. Little-endian.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/file_reader.h"
#include "formats/tensor_stream.h"

namespace lookback::formats {

/// Source: the format's README and its reference reader (safetensors/src/tensor.rs), whose checks are all here.
class SafetensorsReader final : public FormatReader {
 public:
  SafetensorsReader(std::string file, std::optional<std::uint64_t> n_bytes, TensorSink* sink);

  Result<void> feed(std::span<const std::byte> bytes) override;
  Result<void> finish() override;
  bool header_complete() const override { return stage_ == Stage::kData; }
  Format format() const override { return Format::kSafetensors; }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const Metadata& metadata() const override { return metadata_; }

 private:
  enum class Stage { kLength, kHeader, kData };

  Result<void> length_done();
  Result<void> header_done();
  std::uint64_t data_start() const { return kLengthBytes + n_header_bytes_; }

  static constexpr std::size_t kLengthBytes = 8;

  std::string file_;
  std::optional<std::uint64_t> n_bytes_;
  TensorSink* sink_;
  Stage stage_ = Stage::kLength;
  std::vector<std::byte> header_;  // the length, then the JSON, as far as received
  std::uint64_t n_header_bytes_ = 0;
  Metadata metadata_;  // stays empty: __metadata__ says nothing that is used here
  std::vector<TensorInfo> tensors_;
  TensorStream stream_;
};

}  // namespace lookback::formats
