#include "model/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "model/model_config.h"
#include "quant/dequantize.h"

namespace lookback::model {
namespace {

// A layer number beyond this comes from a broken name, not from a network (model_config has the same limit).
constexpr std::uint32_t kMaxLayers = 1024;
// Output rows that a transposed matrix turns at once.
constexpr std::size_t kTurnRows = 64;

bool is_norm(Part part) {
  return part == Part::kFinalNorm || part == Part::kInputNorm || part == Part::kPostAttentionNorm;
}

bool is_float(quant::DType dtype) {
  return dtype == quant::DType::kF32 || dtype == quant::DType::kF16 || dtype == quant::DType::kBF16;
}

std::vector<std::uint64_t> expected_shape(Part part, const ModelConfig& config) {
  switch (part) {
    case Part::kEmbedTokens:
    case Part::kLmHead:
      return {config.n_vocab, config.n_embd};
    case Part::kFinalNorm:
    case Part::kInputNorm:
    case Part::kPostAttentionNorm:
      return {config.n_embd};
    case Part::kQProj:
      return {config.n_q(), config.n_embd};
    case Part::kKProj:
    case Part::kVProj:
      return {config.n_kv(), config.n_embd};
    case Part::kOProj:
      return {config.n_embd, config.n_q()};
    case Part::kGateProj:
    case Part::kUpProj:
      return {config.n_ff, config.n_embd};
    case Part::kDownProj:
      return {config.n_embd, config.n_ff};
  }
  return {};
}

std::string shape_text(std::span<const std::uint64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

Error missing(const TensorRole& role, formats::Format format) {
  return {ErrorCode::kMissingTensor,
          "no tensor for " + role_name(role) + " in this " + std::string(formats::format_name(format)) + " model",
          std::nullopt};
}

}  // namespace

std::uint64_t Weights::n_bytes() const {
  std::uint64_t n = embed_tokens.n_bytes() + final_norm.size() * sizeof(float);
  if (untied_lm_head) n += untied_lm_head->n_bytes();
  for (const auto& layer : layers) {
    for (const auto* matrix : {&layer.q_proj, &layer.k_proj, &layer.v_proj, &layer.o_proj, &layer.gate_proj,
                               &layer.up_proj, &layer.down_proj}) {
      n += matrix->n_bytes();
    }
    n += (layer.input_norm.size() + layer.post_attention_norm.size()) * sizeof(float);
  }
  return n;
}

formats::Format WeightsLoader::format() const {
  CHECK(reader_ != nullptr, "a tensor came before its reader was named");
  return reader_->format().value_or(formats::Format::kOnnx);
}

// ---- what a file announces ----

Result<void> WeightsLoader::on_metadata(const formats::Metadata& metadata) {
  if (format() != formats::Format::kGguf) return {};
  auto config = config_from_metadata(metadata);
  LOOKBACK_TRY(config);
  config_ = *config;
  return {};
}

Result<std::optional<WeightsLoader::Seen>> WeightsLoader::see(const formats::TensorInfo& tensor) const {
  auto role = tensor_role(format(), tensor);
  LOOKBACK_TRY(role);
  if (!role->has_value()) return std::optional<Seen>{};
  const std::size_t n_dims = is_norm((*role)->part) ? 1 : 2;
  if (tensor.shape.size() != n_dims) {
    return Error{ErrorCode::kShapeMismatch,
                 "tensor " + tensor.name + " has shape " + shape_text(tensor.shape) + ", expected " +
                     std::to_string(n_dims) + (n_dims == 1 ? " dimension" : " dimensions"),
                 tensor.offset};
  }
  if ((n_dims == 1 || (*role)->transposed) && !is_float(tensor.dtype)) {
    return Error{
        ErrorCode::kUnsupportedDtype,
        "tensor " + tensor.name + " is " + std::string(quant::dtype_name(tensor.dtype)) + ", expected F32, F16 or BF16",
        tensor.offset};
  }
  if ((*role)->layer >= kMaxLayers) {
    return Error{ErrorCode::kBadConfig, "tensor " + tensor.name + ": no network here has so many layers",
                 tensor.offset};
  }
  for (const auto dim : tensor.shape) {
    if (dim > UINT32_MAX) {
      return Error{ErrorCode::kShapeMismatch, "tensor " + tensor.name + " has shape " + shape_text(tensor.shape),
                   tensor.offset};
    }
  }
  Seen seen{**role, tensor.name, tensor.dtype, tensor.shape};
  if (seen.role.transposed) std::swap(seen.shape[0], seen.shape[1]);
  return std::optional<Seen>{std::move(seen)};
}

Result<void> WeightsLoader::check_shapes(std::span<const Seen> tensors, ModelConfig config) const {
  if (config.n_vocab == 0) {
    // A GGUF may leave the vocabulary's size to its embedding.
    for (const auto& seen : tensors) {
      if (seen.role.part == Part::kEmbedTokens) config.n_vocab = static_cast<std::uint32_t>(seen.shape[0]);
    }
    if (config.n_vocab == 0) return missing({.part = Part::kEmbedTokens}, format());
  }
  LOOKBACK_TRY(check_config(config));
  for (const auto& seen : tensors) {
    if (seen.role.layer >= config.n_layer) {
      return Error{ErrorCode::kBadConfig,
                   "tensor " + seen.name + " belongs to layer " + std::to_string(seen.role.layer) +
                       ", but the configuration has " + std::to_string(config.n_layer) + " layers",
                   std::nullopt};
    }
    const auto expected = expected_shape(seen.role.part, config);
    if (seen.shape != expected) {
      return Error{ErrorCode::kShapeMismatch,
                   "tensor " + seen.name + " has shape " + shape_text(seen.shape) + ", but the configuration implies " +
                       shape_text(expected) + " for " + role_name(seen.role),
                   std::nullopt};
    }
  }
  return {};
}

Result<void> WeightsLoader::check_present(std::span<const Seen> tensors, const ModelConfig& config) const {
  const auto has = [&](const TensorRole& role) {
    return std::any_of(tensors.begin(), tensors.end(), [&](const Seen& seen) { return seen.role == role; });
  };
  for (const auto part : {Part::kEmbedTokens, Part::kFinalNorm}) {
    if (!has({.part = part})) return missing({.part = part}, format());
  }
  // A GGUF or an ONNX graph without a head of its own multiplies by the embedding; a checkpoint says so in its config.
  if (format() == formats::Format::kSafetensors && !config.tie_word_embeddings && !has({.part = Part::kLmHead})) {
    return missing({.part = Part::kLmHead}, format());
  }
  for (std::uint32_t layer = 0; layer < config.n_layer; ++layer) {
    for (const auto part : {Part::kInputNorm, Part::kQProj, Part::kKProj, Part::kVProj, Part::kOProj,
                            Part::kPostAttentionNorm, Part::kGateProj, Part::kUpProj, Part::kDownProj}) {
      if (!has({.part = part, .layer = layer})) return missing({.part = part, .layer = layer}, format());
    }
  }
  return {};
}

Result<void> WeightsLoader::check_memory(std::span<const formats::TensorInfo> tensors) const {
  if (memory_limit_bytes_ == 0) return {};
  // What a packed tensor takes is close to what it takes in the file.
  std::uint64_t need = weights_.n_bytes();
  for (const auto& tensor : tensors) {
    need = tensor.n_bytes > UINT64_MAX - need ? UINT64_MAX : need + tensor.n_bytes;
  }
  if (need <= memory_limit_bytes_) return {};
  return Error{ErrorCode::kOutOfMemory,
               "the weights need " + std::to_string(need) + " bytes, but this build can hold " +
                   std::to_string(memory_limit_bytes_),
               std::nullopt};
}

Result<void> WeightsLoader::on_directory(std::span<const formats::TensorInfo> tensors) {
  if (format() == formats::Format::kOnnx) return {};  // its tensors have been through begin_tensor
  std::vector<Seen> announced;
  for (const auto& tensor : tensors) {
    auto seen = see(tensor);
    LOOKBACK_TRY(seen);
    if (seen->has_value()) announced.push_back(**seen);
  }
  LOOKBACK_TRY(check_memory(tensors));
  if (!config_) return {};
  LOOKBACK_TRY(check_shapes(announced, *config_));
  if (format() == formats::Format::kGguf) LOOKBACK_TRY(check_present(announced, *config_));
  return {};
}

// ---- bytes ----

kernels::PackedMatrix& WeightsLoader::matrix(const TensorRole& role) {
  if (role.part == Part::kEmbedTokens) return weights_.embed_tokens;
  if (role.part == Part::kLmHead)
    return weights_.untied_lm_head ? *weights_.untied_lm_head : weights_.untied_lm_head.emplace();
  LayerWeights& layer = weights_.layers[role.layer];
  switch (role.part) {
    case Part::kQProj:
      return layer.q_proj;
    case Part::kKProj:
      return layer.k_proj;
    case Part::kVProj:
      return layer.v_proj;
    case Part::kOProj:
      return layer.o_proj;
    case Part::kGateProj:
      return layer.gate_proj;
    case Part::kUpProj:
      return layer.up_proj;
    case Part::kDownProj:
      return layer.down_proj;
    default:
      break;
  }
  CHECK(false, "not a matrix");
}

std::vector<float>& WeightsLoader::norm(const TensorRole& role) {
  if (role.part == Part::kFinalNorm) return weights_.final_norm;
  LayerWeights& layer = weights_.layers[role.layer];
  return role.part == Part::kInputNorm ? layer.input_norm : layer.post_attention_norm;
}

Result<void> WeightsLoader::begin_tensor(const formats::TensorInfo& tensor) {
  auto seen = see(tensor);
  LOOKBACK_TRY(seen);
  current_ = std::move(*seen);
  if (!current_) return {};
  for (const auto& earlier : seen_) {
    if (earlier.role == current_->role) {
      return Error{ErrorCode::kDuplicateTensor,
                   "tensors " + earlier.name + " and " + tensor.name + " are both " + role_name(earlier.role),
                   tensor.offset};
    }
  }
  if (weights_.layers.size() <= current_->role.layer) weights_.layers.resize(current_->role.layer + 1);

  partial_row_.clear();
  n_whole_ = 0;
  row_bytes_ = static_cast<std::size_t>(quant::row_bytes(tensor.dtype, current_->shape.back()));
  if (is_norm(current_->role.part) || current_->role.transposed) {
    auto whole = base::AlignedBuffer::create(tensor.n_bytes, tensor.name.c_str());
    if (!whole) return whole.error();
    whole_ = std::move(*whole);
  }
  if (is_norm(current_->role.part)) return {};
  auto packed = kernels::PackedMatrix::create(tensor.dtype, static_cast<std::uint32_t>(current_->shape[0]),
                                              static_cast<std::uint32_t>(current_->shape[1]), tensor.name.c_str());
  if (!packed) return packed.error();
  matrix(current_->role) = std::move(*packed);
  return {};
}

Result<void> WeightsLoader::tensor_bytes(std::span<const std::byte> bytes) {
  if (!current_) return {};
  if (is_norm(current_->role.part) || current_->role.transposed) {
    CHECK(bytes.size() <= whole_.size_bytes() - n_whole_, "a reader hands out no more than n_bytes");
    std::memcpy(whole_.data() + n_whole_, bytes.data(), bytes.size());
    n_whole_ += bytes.size();
    return {};
  }
  return append_rows(bytes);
}

Result<void> WeightsLoader::append_rows(std::span<const std::byte> bytes) {
  auto& packed = matrix(current_->role);
  if (!partial_row_.empty()) {
    const std::size_t n = std::min<std::size_t>(bytes.size(), row_bytes_ - partial_row_.size());
    partial_row_.insert(partial_row_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    bytes = bytes.subspan(n);
    if (partial_row_.size() < row_bytes_) return {};
    LOOKBACK_TRY(packed.append_rows(partial_row_, 1));
    partial_row_.clear();
  }
  const std::size_t n_rows = bytes.size() / row_bytes_;
  if (n_rows > 0)
    LOOKBACK_TRY(packed.append_rows(bytes.first(n_rows * row_bytes_), static_cast<std::uint32_t>(n_rows)));
  const auto rest = bytes.subspan(n_rows * row_bytes_);
  partial_row_.assign(rest.begin(), rest.end());
  return {};
}

Result<void> WeightsLoader::end_tensor() {
  if (!current_) return {};
  if (is_norm(current_->role.part)) {
    LOOKBACK_TRY(finish_norm());
  } else if (current_->role.transposed) {
    LOOKBACK_TRY(append_transposed());
  }
  whole_ = {};
  seen_.push_back(std::move(*current_));
  current_.reset();
  return {};
}

Result<void> WeightsLoader::finish_norm() {
  auto& values = norm(current_->role);
  values.resize(static_cast<std::size_t>(current_->shape[0]));
  quant::dequantize_row(current_->dtype, whole_.data(), values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    return Error{ErrorCode::kNonFinite,
                 "tensor " + current_->name + " holds NaN or infinity at element " + std::to_string(i), std::nullopt};
  }
  return {};
}

Result<void> WeightsLoader::append_transposed() {
  const auto n_out = static_cast<std::size_t>(current_->shape[0]);
  const auto n_in = static_cast<std::size_t>(current_->shape[1]);
  const std::size_t element_bytes = quant::block_bytes(current_->dtype);
  auto turned = base::AlignedBuffer::create(kTurnRows * row_bytes_, current_->name.c_str());
  if (!turned) return turned.error();
  auto& packed = matrix(current_->role);
  for (std::size_t first = 0; first < n_out; first += kTurnRows) {
    const std::size_t n = std::min(kTurnRows, n_out - first);
    for (std::size_t in = 0; in < n_in; ++in) {
      const std::byte* from = whole_.data() + (in * n_out + first) * element_bytes;
      for (std::size_t r = 0; r < n; ++r) {
        std::memcpy(turned->data() + (r * n_in + in) * element_bytes, from + r * element_bytes, element_bytes);
      }
    }
    LOOKBACK_TRY(packed.append_rows({turned->data(), n * row_bytes_}, static_cast<std::uint32_t>(n)));
  }
  return {};
}

// ---- the whole ----

Result<Weights> WeightsLoader::finish(ModelConfig* config) {
  if (reader_ == nullptr) return Error{ErrorCode::kWrongState, "no weights file has been read", std::nullopt};
  if (!config_) {
    return Error{ErrorCode::kMissingMetadata, "no configuration: this format needs a config.json", std::nullopt};
  }
  *config = *config_;
  LOOKBACK_TRY(check_shapes(seen_, *config));
  LOOKBACK_TRY(check_present(seen_, *config));
  config->n_vocab = weights_.embed_tokens.rows();
  if (config->tie_word_embeddings) weights_.untied_lm_head.reset();
  return std::move(weights_);
}

WeightsSummary WeightsLoader::summary() const {
  WeightsSummary summary;
  std::map<std::string_view, std::uint64_t> by_dtype;
  for (const auto& seen : seen_) {
    std::uint64_t n = 1;
    for (const auto dim : seen.shape) n *= dim;
    by_dtype[quant::dtype_name(seen.dtype)] += n;
    summary.n_parameters += n;
  }
  std::vector<std::pair<std::string_view, std::uint64_t>> sorted(by_dtype.begin(), by_dtype.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [dtype, n] : sorted) summary.dtypes.emplace_back(dtype);
  return summary;
}

}  // namespace lookback::model
