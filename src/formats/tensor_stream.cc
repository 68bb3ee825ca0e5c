#include "formats/tensor_stream.h"

#include <algorithm>

#include "base/checked_math.h"
#include "formats/limits.h"
#include "formats/refusal.h"

namespace lookback::formats {

Result<std::uint64_t> tensor_bytes_needed(std::string_view file, std::string_view name, quant::DType dtype,
                                          std::span<const std::uint64_t> shape, std::optional<std::uint64_t> offset) {
  const auto bad = [&](const std::string& what) {
    return refuse(ErrorCode::kBadHeader, file, "tensor " + in_quotes(name) + ": " + what, offset);
  };
  if (shape.size() > kMaxDims) {
    return bad(std::to_string(shape.size()) + " dimensions, expected at most " + std::to_string(kMaxDims));
  }
  std::optional<std::uint64_t> n_elements = 1;
  for (const std::uint64_t n : shape) {
    if (n == 0) return bad("shape " + shape_text(shape) + " has a dimension of 0");
    if (n_elements) n_elements = base::checked_multiply(*n_elements, n);
  }
  // No file holds 2^63 elements, and below that neither bytes nor signed sizes overflow later.
  if (!n_elements || *n_elements > std::uint64_t{1} << 60) {
    return bad("shape " + shape_text(shape) + " overflows 64 bits");
  }
  const std::uint64_t n_cols = shape.empty() ? 1 : shape.back();
  if (n_cols % quant::block_size(dtype) != 0) {
    return bad("rows of " + std::to_string(n_cols) + " are no multiple of the " +
               std::string(quant::dtype_name(dtype)) + " block of " + std::to_string(quant::block_size(dtype)));
  }
  return *n_elements / quant::block_size(dtype) * quant::block_bytes(dtype);
}

Result<void> sort_and_check_layout(std::string_view file, std::vector<TensorInfo>& tensors, const LayoutRules& rules) {
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) { return a.offset < b.offset; });
  std::uint64_t end = rules.data_start;
  std::uint64_t widest_gap = 0;
  std::optional<Error> hole;
  for (const TensorInfo& tensor : tensors) {
    const auto bad = [&](const std::string& what) {
      return refuse(ErrorCode::kBadOffset, file, "tensor " + in_quotes(tensor.name) + ": " + what, tensor.offset);
    };
    const auto tensor_end = base::checked_add(tensor.offset, tensor.n_bytes);
    if (!tensor_end) return bad("data ends beyond 64 bits");
    if (tensor.offset < end) return bad("data overlaps what ends at byte " + std::to_string(end));
    // One wrong offset leaves two holes; the wider is before the tensor that is wrong.
    const std::uint64_t gap = tensor.offset - end;
    if (gap > rules.max_gap && gap > widest_gap) {
      widest_gap = gap;
      hole = bad("data begins " + std::to_string(gap) + " bytes after the end of what comes before, at byte " +
                 std::to_string(end));
    }
    end = *tensor_end;
  }
  if (hole) return *hole;
  // Last, so that a lie about offsets is not mistaken for a cut file.
  for (const TensorInfo& tensor : tensors) {
    if (rules.file_size && tensor.offset + tensor.n_bytes > *rules.file_size) {
      return refuse(ErrorCode::kTruncated, file,
                    "tensor " + in_quotes(tensor.name) + ": data ends at byte " +
                        std::to_string(tensor.offset + tensor.n_bytes) + " of a file of " +
                        std::to_string(*rules.file_size),
                    *rules.file_size);
    }
  }
  return {};
}

Result<void> check_end(std::string_view file, std::span<const TensorInfo> tensors, std::uint64_t data_start,
                       std::uint64_t alignment, std::uint64_t file_size) {
  const std::uint64_t end = tensors.empty() ? data_start : tensors.back().offset + tensors.back().n_bytes;
  const std::uint64_t n_padding = (alignment - end % alignment) % alignment;
  if (file_size <= end || file_size - end <= n_padding) return {};
  const std::string last = tensors.empty() ? "the header" : "the last tensor " + in_quotes(tensors.back().name);
  return refuse(ErrorCode::kBadOffset, file,
                std::to_string(file_size - end) + " bytes after " + last + " belong to none, expected " +
                    (n_padding == 0 ? "no byte" : "at most " + std::to_string(n_padding) + " of padding"),
                end + n_padding);
}

void TensorStream::start(std::span<const TensorInfo> tensors, std::uint64_t position) {
  left_ = tensors;
  position_ = position;
}

Result<void> TensorStream::feed(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (left_.empty()) {  // what follows the last tensor
      position_ += bytes.size();
      return {};
    }
    const TensorInfo& tensor = left_.front();
    if (position_ < tensor.offset) {
      const auto gap = static_cast<std::size_t>(std::min<std::uint64_t>(tensor.offset - position_, bytes.size()));
      position_ += gap;
      bytes = bytes.subspan(gap);
      continue;
    }
    if (position_ == tensor.offset) LOOKBACK_TRY(sink_->begin_tensor(tensor));
    const std::uint64_t wanted = tensor.offset + tensor.n_bytes - position_;
    const auto piece = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(wanted, bytes.size())));
    LOOKBACK_TRY(sink_->tensor_bytes(piece));
    position_ += piece.size();
    bytes = bytes.subspan(piece.size());
    if (piece.size() == wanted) {
      LOOKBACK_TRY(sink_->end_tensor());
      left_ = left_.subspan(1);
    }
  }
  return {};
}

Result<void> TensorStream::finish() const {
  if (left_.empty()) return {};
  const TensorInfo& tensor = left_.front();
  return refuse(ErrorCode::kTruncated, file_,
                "the file ends before tensor " + in_quotes(tensor.name) + " does, expected until byte " +
                    std::to_string(tensor.offset + tensor.n_bytes),
                position_);
}

}  // namespace lookback::formats
