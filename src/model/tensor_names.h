// The names of tensors: the one place that knows how each format spells q_proj.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/file_reader.h"
#include "formats/tensor_info.h"
#include "lookback/result.h"

namespace lookback::model {

enum class Part {
  kEmbedTokens,
  kFinalNorm,
  kLmHead,
  kInputNorm,
  kPostAttentionNorm,
  kQProj,
  kKProj,
  kVProj,
  kOProj,
  kGateProj,
  kUpProj,
  kDownProj,
};

/// Which weight of the network a tensor is.
struct TensorRole {
  Part part;
  std::uint32_t layer = 0;  ///< 0 for parts that exist once
  /// The file holds [in, out]: the second operand of an ONNX MatMul. (Shapes do not tell: q_proj may be square.)
  bool transposed = false;
  bool operator==(const TensorRole& other) const { return part == other.part && layer == other.layer; }
};

/// "layers.3.q_proj", for messages.
std::string role_name(const TensorRole& role);

/// The tensor's role; nullopt for what a pass does not need (constants of an ONNX graph, rope tables).
/// Errors: unsupported_architecture for a tensor that would change the pass and is not read here (biases, rope factors).
Result<std::optional<TensorRole>> tensor_role(formats::Format format, const formats::TensorInfo& tensor);

}  // namespace lookback::model
