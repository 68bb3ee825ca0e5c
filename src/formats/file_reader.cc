#include "formats/file_reader.h"

#include <algorithm>

#include "base/check.h"
#include "formats/gguf.h"
#include "formats/onnx.h"
#include "formats/onnx_external.h"
#include "formats/recognise.h"
#include "formats/refusal.h"
#include "formats/safetensors.h"

namespace lookback::formats {

std::string_view format_name(Format format) {
  switch (format) {
    case Format::kGguf:
      return "gguf";
    case Format::kSafetensors:
      return "safetensors";
    case Format::kOnnx:
      return "onnx";
  }
  CHECK(false, "every format has its case");
}

FileReader::FileReader(std::string name, std::optional<std::uint64_t> n_bytes, TensorSink* sink)
    : name_(std::move(name)), n_bytes_(n_bytes), sink_(sink) {}

Result<std::unique_ptr<FileReader>> FileReader::create(std::string name, std::optional<std::uint64_t> n_bytes,
                                                       TensorSink* sink) {
  if (n_bytes == 0) return refuse(ErrorCode::kTruncated, name, "the file is empty", 0);
  return std::unique_ptr<FileReader>(new FileReader(std::move(name), n_bytes, sink));
}

Result<std::unique_ptr<FileReader>> FileReader::create_external(const FileReader& model, std::string_view file,
                                                                std::optional<std::uint64_t> n_bytes,
                                                                TensorSink* sink) {
  std::unique_ptr<FileReader> reader(new FileReader(std::string(file), n_bytes, sink));
  CHECK(model.reader_ != nullptr, "external files are asked for after the model's end");
  auto tensors = model.reader_->external_tensors(file);
  if (!tensors) return tensors.error();
  if (tensors->empty())
    return refuse(ErrorCode::kBadArgument, model.name_, "no tensor's data is in " + in_quotes(file));
  auto external = OnnxExternalReader::create(std::string(file), n_bytes, std::move(*tensors), sink);
  if (!external) return external.error();
  reader->reader_ = std::move(*external);
  return reader;
}

/// Chooses the reader as soon as the first bytes allow it. ended: no more will come.
Result<void> FileReader::choose_reader(Ended ended) {
  if (start_.size() < kDecidingBytes && ended == Ended::kNo) return {};
  if (start_.empty()) return refuse(ErrorCode::kTruncated, name_, "the file is empty", 0);
  const std::optional<Format> format =
      recognise(name_, std::span(start_).first(std::min(start_.size(), kDecidingBytes)));
  if (!format) {
    if (start_.size() < kDescribingBytes && ended == Ended::kNo) return {};
    return refuse(ErrorCode::kBadMagic, name_, describe_other(start_), 0);
  }
  switch (*format) {
    case Format::kGguf:
      reader_ = std::make_unique<GgufReader>(name_, n_bytes_, sink_);
      break;
    case Format::kSafetensors:
      reader_ = std::make_unique<SafetensorsReader>(name_, n_bytes_, sink_);
      break;
    case Format::kOnnx:
      reader_ = std::make_unique<OnnxReader>(name_, n_bytes_, sink_);
      break;
  }
  const std::vector<std::byte> start = std::move(start_);
  start_.clear();
  return reader_->feed(start);
}

Result<void> FileReader::feed(std::span<const std::byte> bytes) {
  if (!error_) {
    if (auto fed = feed_unless_failed(bytes); !fed) error_ = fed.error();
  }
  return error_ ? Result<void>(*error_) : Result<void>();
}

Result<void> FileReader::feed_unless_failed(std::span<const std::byte> bytes) {
  if (n_bytes_ && bytes.size() > *n_bytes_ - n_fed_) {
    return refuse(ErrorCode::kBadHeader, name_,
                  "more bytes came than the " + std::to_string(*n_bytes_) + " that were announced", *n_bytes_);
  }
  n_fed_ += bytes.size();
  if (!reader_) {
    const auto start = bytes.first(std::min(bytes.size(), kDescribingBytes - start_.size()));
    start_.insert(start_.end(), start.begin(), start.end());
    bytes = bytes.subspan(start.size());
    LOOKBACK_TRY(choose_reader(Ended::kNo));
  }
  return bytes.empty() ? Result<void>() : reader_->feed(bytes);
}

Result<void> FileReader::finish() {
  if (!error_) {
    if (auto finished = finish_unless_failed(); !finished) error_ = finished.error();
  }
  return error_ ? Result<void>(*error_) : Result<void>();
}

Result<void> FileReader::finish_unless_failed() {
  if (!reader_) LOOKBACK_TRY(choose_reader(Ended::kYes));
  LOOKBACK_TRY(reader_->finish());
  if (n_bytes_ && n_fed_ < *n_bytes_) {
    return refuse(ErrorCode::kTruncated, name_,
                  "only " + std::to_string(n_fed_) + " of " + std::to_string(*n_bytes_) + " bytes came", n_fed_);
  }
  return {};
}

bool FileReader::header_complete() const { return reader_ && !error_ && reader_->header_complete(); }

std::optional<Format> FileReader::format() const { return reader_ ? std::optional(reader_->format()) : std::nullopt; }

const std::vector<TensorInfo>& FileReader::tensors() const {
  CHECK(reader_ != nullptr, "tensors are asked for once the header is complete");
  return reader_->tensors();
}

const Metadata& FileReader::metadata() const {
  CHECK(reader_ != nullptr, "metadata is asked for once the header is complete");
  return reader_->metadata();
}

std::vector<std::string> FileReader::external_files() const {
  return reader_ ? reader_->external_files() : std::vector<std::string>();
}

}  // namespace lookback::formats
