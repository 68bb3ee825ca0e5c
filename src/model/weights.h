// Weights: the network's matrices, packed for the kernels as the file streams in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "formats/file_reader.h"
#include "formats/tensor_info.h"
#include "kernels/packed_matrix.h"
#include "lookback/types.h"
#include "model/tensor_names.h"

namespace lookback::model {

/// One block of the network. Matrices are [out, in].
struct LayerWeights {
  std::vector<float> input_norm;           // [n_embd]
  kernels::PackedMatrix q_proj;            // [n_head * head_dim, n_embd]
  kernels::PackedMatrix k_proj;            // [n_kv_head * head_dim, n_embd]
  kernels::PackedMatrix v_proj;            // [n_kv_head * head_dim, n_embd]
  kernels::PackedMatrix o_proj;            // [n_embd, n_head * head_dim]
  std::vector<float> post_attention_norm;  // [n_embd]
  kernels::PackedMatrix gate_proj;         // [n_ff, n_embd]
  kernels::PackedMatrix up_proj;           // [n_ff, n_embd]
  kernels::PackedMatrix down_proj;         // [n_embd, n_ff]
};

struct Weights {
  kernels::PackedMatrix embed_tokens;  // [n_vocab, n_embd]
  std::vector<LayerWeights> layers;    // [n_layer]
  std::vector<float> final_norm;       // [n_embd]
  std::optional<kernels::PackedMatrix> untied_lm_head;

  /// [n_vocab, n_embd]; the embedding where the file has no head of its own.
  const kernels::PackedMatrix& lm_head() const { return untied_lm_head ? *untied_lm_head : embed_tokens; }

  /// Bytes in memory.
  std::uint64_t n_bytes() const;
};

/// What was loaded, for model.info.
struct WeightsSummary {
  std::uint64_t n_parameters = 0;
  std::vector<std::string> dtypes;  ///< most elements first
};

/// Receives one or more files and becomes Weights. Shapes and dtypes are checked here and nowhere else: as soon as a
/// directory and the configuration are known, and once more for the whole in finish().
class WeightsLoader : public formats::TensorSink {
 public:
  /// memory_limit_bytes 0: unknown.
  explicit WeightsLoader(std::uint64_t memory_limit_bytes) : memory_limit_bytes_(memory_limit_bytes) {}

  /// Who makes the next calls; its format decides how names are read.
  void set_reader(const formats::FileReader* reader) { reader_ = reader; }
  /// The configuration of a safetensors or ONNX model; a GGUF brings its own.
  void set_config(const ModelConfig& config) { config_ = config; }
  const std::optional<ModelConfig>& config() const { return config_; }

  Result<void> on_metadata(const formats::Metadata& metadata) override;
  Result<void> on_directory(std::span<const formats::TensorInfo> tensors) override;
  Result<void> begin_tensor(const formats::TensorInfo& tensor) override;
  Result<void> tensor_bytes(std::span<const std::byte> bytes) override;
  Result<void> end_tensor() override;

  /// The weights, complete. config's n_vocab is filled in from the embedding where the file states none.
  /// Errors: missing_metadata without a configuration; missing_tensor, shape_mismatch, bad_config.
  Result<Weights> finish(ModelConfig* config);
  WeightsSummary summary() const;

 private:
  struct Seen {
    TensorRole role;
    std::string name;
    quant::DType dtype;
    std::vector<std::uint64_t> shape;  // as [out, in]
  };

  formats::Format format() const;
  Result<std::optional<Seen>> see(const formats::TensorInfo& tensor) const;
  Result<void> check_shapes(std::span<const Seen> tensors, ModelConfig config) const;
  Result<void> check_present(std::span<const Seen> tensors, const ModelConfig& config) const;
  Result<void> check_memory(std::span<const formats::TensorInfo> tensors) const;
  kernels::PackedMatrix& matrix(const TensorRole& role);
  std::vector<float>& norm(const TensorRole& role);
  Result<void> append_rows(std::span<const std::byte> bytes);
  Result<void> append_transposed();
  Result<void> finish_norm();

  std::uint64_t memory_limit_bytes_;
  const formats::FileReader* reader_ = nullptr;
  std::optional<ModelConfig> config_;
  Weights weights_;
  std::vector<Seen> seen_;

  // The tensor that is streaming in.
  std::optional<Seen> current_;  // empty: its bytes are not needed
  std::size_t row_bytes_ = 0;
  std::vector<std::byte> partial_row_;  // the start of a row whose end has not come
  base::AlignedBuffer whole_;           // transposed matrices and norms: all of it, then turned
  std::size_t n_whole_ = 0;
};

}  // namespace lookback::model
