// TensorStream: the data section of a file, handed to the sink tensor by tensor. Knows offsets, no format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/tensor_info.h"
#include "lookback/result.h"

namespace lookback::formats {

/// n_bytes of a tensor, from a shape [outer … inner] and dtype as a file claims them.
/// Errors: bad_header for a dimension of 0, an overflow, rows that are no whole blocks, or too many dimensions.
Result<std::uint64_t> tensor_bytes_needed(std::string_view file, std::string_view name, quant::DType dtype,
                                          std::span<const std::uint64_t> shape, std::optional<std::uint64_t> offset);

/// Where tensors may lie.
struct LayoutRules {
  std::uint64_t data_start;                ///< no tensor begins before it
  std::optional<std::uint64_t> file_size;  ///< none ends after it, where known
  std::uint64_t max_gap;                   ///< bytes of no tensor allowed before each
};

/// Sorts tensors by offset and holds them against the rules. Errors: bad_offset for overlaps and holes; truncated where the
/// tensors lie well but the file is too short.
Result<void> sort_and_check_layout(std::string_view file, std::vector<TensorInfo>& tensors, const LayoutRules& rules);

/// Bytes behind the last tensor belong to none. Padding up to the alignment may stand there all the same.
/// tensors: sorted; data_start: where a file without any ends. Errors: bad_offset at the first byte too many.
Result<void> check_end(std::string_view file, std::span<const TensorInfo> tensors, std::uint64_t data_start,
                       std::uint64_t alignment, std::uint64_t file_size);

class TensorStream {
 public:
  TensorStream(std::string file, TensorSink* sink) : file_(std::move(file)), sink_(sink) {}

  /// tensors: sorted and without overlaps; they must stay where they are. position: the file offset of the next byte fed.
  void start(std::span<const TensorInfo> tensors, std::uint64_t position);
  Result<void> feed(std::span<const std::byte> bytes);
  /// Errors: truncated, naming the first tensor that is not whole.
  Result<void> finish() const;
  /// File offset after the bytes fed.
  std::uint64_t position() const { return position_; }

 private:
  std::string file_;
  TensorSink* sink_;
  std::span<const TensorInfo> left_;  // the first is the one being read
  std::uint64_t position_ = 0;
};

}  // namespace lookback::formats
