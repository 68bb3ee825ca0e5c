// GGUF v2 and v3: header, key/value pairs, tensor directory, aligned data. Little-endian.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/file_reader.h"
#include "formats/pending_bytes.h"
#include "formats/tensor_stream.h"

namespace lookback::formats {

/// Source: the GGUF specification (ggml/docs/gguf.md) and llama.cpp's gguf.cpp, whose checks are all here.
class GgufReader final : public FormatReader {
 public:
  GgufReader(std::string file, std::optional<std::uint64_t> n_bytes, TensorSink* sink);

  Result<void> feed(std::span<const std::byte> bytes) override;
  Result<void> finish() override;
  bool header_complete() const override { return stage_ == Stage::kData; }
  Format format() const override { return Format::kGguf; }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  const Metadata& metadata() const override { return metadata_; }

 private:
  enum class Stage { kCounts, kKeyValues, kArray, kTensorInfos, kData };
  /// An item was read whole, or more bytes must come first.
  enum class Progress { kItem, kWait };

  /// An array being read, element by element.
  struct ArrayState {
    std::string key;
    std::uint32_t type = 0;
    std::uint64_t n_left = 0;
  };

  Result<Progress> parse_item(base::ByteReader& in);
  Result<Progress> parse_counts(base::ByteReader& in);
  Result<Progress> parse_key_value(base::ByteReader& in);
  Result<Progress> parse_array_head(base::ByteReader& in, std::string_view key);
  Result<Progress> parse_array_elements(base::ByteReader& in);
  Result<Progress> parse_tensor_info(base::ByteReader& in);
  /// What a message speaks of. Put into words only when there is one: a vocabulary has a hundred thousand strings.
  struct Subject {
    std::string_view words;
    std::string_view key = {};  ///< in quotes after the words, where there is one
    std::string_view after = {};

    std::string text() const;
  };
  Result<std::optional<std::string_view>> parse_string(base::ByteReader& in, const Subject& subject,
                                                       std::uint64_t longest) const;

  void array_done();
  Result<void> key_values_done();
  Result<void> header_done();
  Result<void> check_end(std::uint64_t file_size) const;

  /// Holds a claim of n items of item_bytes each against what the file can still contain.
  Result<void> check_claim(const base::ByteReader& in, const Subject& subject, std::uint64_t n,
                           std::uint64_t item_bytes, std::uint64_t most) const;
  std::uint64_t offset_of(const base::ByteReader& in) const { return pending_.offset() + in.position(); }
  std::string where() const;
  Error with_file(const Error& error) const;

  std::string file_;
  std::optional<std::uint64_t> n_bytes_;
  TensorSink* sink_;
  Stage stage_ = Stage::kCounts;
  PendingBytes pending_;
  std::uint64_t n_key_values_left_ = 0;
  std::uint64_t n_tensors_left_ = 0;
  ArrayState array_;
  std::uint64_t alignment_ = 32;  // GGUF_DEFAULT_ALIGNMENT
  std::uint64_t data_start_ = 0;
  Metadata metadata_;
  TokenizerData tokenizer_;
  std::set<std::string, std::less<>> tensor_names_;
  std::vector<TensorInfo> tensors_;  // offsets count from the data section until the header is done
  TensorStream stream_;
};

}  // namespace lookback::formats
