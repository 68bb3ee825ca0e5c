// Plain data of the engine's door: configuration, options, answers. Standard library only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lookback/result.h"

namespace lookback {

using TokenId = std::int32_t;

/// Array<T>: an owned array of plain numbers whose allocation may fail. Answers with one number per head, key or token
/// come in it, so that a long text is an out_of_memory error and not an abort.
template <typename T>
class Array {
 public:
  Array() = default;

  /// n uninitialised elements. Errors: out_of_memory, naming `purpose`.
  static Result<Array> create(std::size_t n, const char* purpose) {
    Array array;
    if (n > SIZE_MAX / sizeof(T)) return too_large(n, purpose);
    array.data_.reset(static_cast<T*>(std::malloc(n == 0 ? 1 : n * sizeof(T))));
    if (array.data_ == nullptr) return too_large(n, purpose);
    array.size_ = n;
    return array;
  }

  std::size_t size() const { return size_; }
  std::span<T> span() { return {data_.get(), size_}; }
  std::span<const T> span() const { return {data_.get(), size_}; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };

  static Error too_large(std::size_t n, const char* purpose) {
    return {ErrorCode::kOutOfMemory,
            std::string(purpose) + ": no memory for " + std::to_string(n) + " numbers of " + std::to_string(sizeof(T)) +
                " bytes",
            std::nullopt};
  }

  std::unique_ptr<T[], Free> data_;
  std::size_t size_ = 0;
};

/// exact: weights dequantised exactly, f32 arithmetic. fast: activations rounded to 16 bits for integer products.
enum class Precision { kExact, kFast };

/// Which slots of a head rotate together. Source: llama.cpp's conversion permutes q/k rows, so a llama GGUF pairs
/// neighbours (2i, 2i+1); Hugging Face checkpoints and their ONNX exports pair halves (i, i + head_dim/2).
enum class RopeLayout { kNeighbours, kHalves };

/// The hyperparameters of one Llama-architecture network.
struct ModelConfig {
  std::string architecture;  ///< "llama"
  std::uint32_t n_layer = 0;
  std::uint32_t n_head = 0;
  std::uint32_t n_kv_head = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t n_embd = 0;
  std::uint32_t n_ff = 0;
  std::uint32_t n_vocab = 0;
  std::uint32_t n_ctx = 0;  ///< positions the model was made for
  float rope_base = 0;
  float rms_eps = 0;
  RopeLayout rope_layout = RopeLayout::kHalves;
  bool tie_word_embeddings = false;  ///< as config.json says; a GGUF says it by having no head

  std::uint32_t n_q() const { return n_head * head_dim; }      ///< width of the concatenated heads
  std::uint32_t n_kv() const { return n_kv_head * head_dim; }  ///< width of keys and values
  std::uint32_t group() const { return n_head / n_kv_head; }   ///< query heads that read one key/value head
};

struct EngineOptions {
  Precision precision = Precision::kExact;
  int n_threads = 1;
  std::uint32_t n_ctx = 0;               ///< 0: the file's
  std::uint64_t memory_limit_bytes = 0;  ///< 0: unknown; else the most that the process may ever hold
};

struct FileOptions {
  std::string name;                           ///< for messages and the extension; also matches ONNX external data
  std::optional<std::uint64_t> n_bytes = {};  ///< the whole file, where known
  bool inspect_only = false;                  ///< read the directory, keep no weights
};

struct FeedStatus {
  bool header_complete = false;
};

struct TensorEntry {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;  ///< outer → inner
};

struct TokenizerSummary {
  std::string model;
  std::string pre;
  std::uint64_t n_tokens = 0;
  std::uint64_t n_merges = 0;
};

/// What a file says of itself before its weights are read.
struct Directory {
  std::string format;  ///< "gguf", "safetensors" or "onnx"
  std::string architecture;
  std::optional<ModelConfig> config;  ///< absent while a safetensors or ONNX file has no config.json yet
  std::vector<TensorEntry> tensors;
  std::optional<TokenizerSummary> tokenizer;
};

/// Tokens and merges of a GGUF, as bytes: each string is a u32 length (little-endian) and its UTF-8.
struct TokenizerView {
  std::string_view model;
  std::string_view pre;
  std::span<const std::byte> tokens;
  std::span<const std::byte> merges;
  std::span<const std::int32_t> token_types;
  std::optional<TokenId> bos_id, eos_id, unk_id, pad_id;
  bool add_bos = false;
  bool add_space_prefix = false;
  std::string_view chat_template;
};

struct ModelInfo {
  ModelConfig config;
  std::uint32_t n_ctx = 0;          ///< positions a pass may hold
  std::uint64_t n_parameters = 0;   ///< weights of the file, a tied head counted once
  std::uint64_t weight_bytes = 0;   ///< as held in memory
  std::vector<std::string> dtypes;  ///< of the file, most elements first
  bool tied = false;                ///< lm_head is embed_tokens
  std::string variant;              ///< the kernels that run
  int n_threads = 1;                ///< that really run
  Precision precision = Precision::kExact;
};

/// A switch. Without query and key: the head's slots are zeroed before o_proj at every position. With both: the score
/// that `query` gives to `key` is -inf before the softmax.
struct Off {
  struct Link {
    std::uint32_t query = 0;
    std::uint32_t key = 0;
    bool operator==(const Link&) const = default;
  };
  std::uint32_t layer = 0;
  std::uint32_t head = 0;
  std::optional<Link> link = {};
  bool operator==(const Off&) const = default;
};

/// rows: queries are kept too, so every attention row can be read. none: keys and values only.
enum class Keep { kRows, kNone };

class Pass;

struct PassOptions {
  Keep keep = Keep::kRows;
  std::vector<Off> off = {};
  const Pass* prefix = nullptr;     ///< a finished pass with the same switches
  std::uint32_t prefix_length = 0;  ///< its first positions are shared, not run again
};

struct StepStatus {
  bool done = false;
  std::uint32_t length = 0;  ///< positions finished
};

/// Tokens by falling logit; probabilities are over the whole vocabulary.
struct TopTokens {
  Array<TokenId> ids;
  Array<float> logits;
  Array<float> probabilities;
};

/// One attention row: qk [query+1] before the division by sqrt(head_dim), scaled after it, share after the softmax.
struct AttentionRow {
  Array<float> qk;
  Array<float> scaled;
  Array<float> share;
};

/// A logit as a sum of what embedding, heads [n_layer, n_head] and MLPs [n_layer] wrote, the final norm's scale held
/// fixed.
struct Attribution {
  float embedding = 0;
  Array<float> heads;
  Array<float> mlps;
  float logit = 0;
};

/// One head off: the target's probability then, and KL(clean to ablated) in nats.
struct EffectRow {
  std::uint32_t layer = 0;
  std::uint32_t head = 0;
  double probability = 0;
  double kl = 0;
};

struct EffectsStatus {
  bool done = false;
  std::vector<EffectRow> rows;  ///< finished by this step
};

}  // namespace lookback
