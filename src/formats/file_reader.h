// formats: weights files as bytes stream in. Owns: what GGUF, safetensors and ONNX files say, and every check of it; knows no
// model. May touch: base, quant. Start reading at FileReader, which any file goes through; gguf.h is the plainest format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/metadata.h"
#include "formats/tensor_info.h"
#include "lookback/result.h"

namespace lookback::formats {

enum class Format { kGguf, kSafetensors, kOnnx };

/// "gguf", "safetensors", "onnx"
std::string_view format_name(Format format);

/// What every format's reader does; FileReader picks one by the first bytes.
class FormatReader {
 public:
  virtual ~FormatReader() = default;
  virtual Result<void> feed(std::span<const std::byte> bytes) = 0;
  virtual Result<void> finish() = 0;
  virtual bool header_complete() const = 0;
  virtual Format format() const = 0;
  virtual const std::vector<TensorInfo>& tensors() const = 0;
  virtual const Metadata& metadata() const = 0;
  virtual std::vector<std::string> external_files() const { return {}; }
  virtual Result<std::vector<TensorInfo>> external_tensors(std::string_view) const { return std::vector<TensorInfo>(); }
};

/// Reads one weights file fed in pieces of any size. Keeps the header and no tensor data; every count, length and
/// offset is checked before use, and memory grows only with bytes received, never with a number that the file claims.
/// After an error the reader is dead: each later call returns the same error.
class FileReader {
 public:
  /// name: for messages, and its extension where the bytes alone do not tell. n_bytes: the whole file's size where
  /// known, by which what lies past the end is refused at once. The sink must outlive the reader.
  static Result<std::unique_ptr<FileReader>> create(std::string name, std::optional<std::uint64_t> n_bytes,
                                                    TensorSink* sink);
  /// One of model.external_files(): its tensors go to the sink like all others (no on_metadata, no on_directory). The
  /// file may hold bytes of no tensor. `model` must have been finished, and may go away afterwards.
  static Result<std::unique_ptr<FileReader>> create_external(const FileReader& model, std::string_view file,
                                                             std::optional<std::uint64_t> n_bytes, TensorSink* sink);

  Result<void> feed(std::span<const std::byte> bytes);
  /// The end of the file: everything announced has arrived, or `truncated`.
  Result<void> finish();

  /// The directory is known: what `inspect` needs. ONNX: only after finish().
  bool header_complete() const;
  /// Known from the first dozen bytes on; nothing before.
  std::optional<Format> format() const;
  /// All tensors, in file order, once the header is complete.
  const std::vector<TensorInfo>& tensors() const;
  const Metadata& metadata() const;
  /// ONNX external data: relative names, each once, without "..": to be read next with create_external.
  std::vector<std::string> external_files() const;

 private:
  FileReader(std::string name, std::optional<std::uint64_t> n_bytes, TensorSink* sink);
  enum class Ended { kNo, kYes };
  Result<void> choose_reader(Ended ended);
  Result<void> feed_unless_failed(std::span<const std::byte> bytes);
  Result<void> finish_unless_failed();

  std::string name_;
  std::optional<std::uint64_t> n_bytes_;
  TensorSink* sink_;
  std::vector<std::byte> start_;  // the first bytes, until the format is known
  std::uint64_t n_fed_ = 0;
  std::unique_ptr<FormatReader> reader_;
  std::optional<Error> error_;
};

}  // namespace lookback::formats
