// Engine: the only door to the core. Bytes of weights go in, passes come out; every number of a pass can be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lookback/result.h"
#include "lookback/types.h"

namespace lookback {

class Effects;

/// Life of an engine: begin_file / chunk / commit / end_file for each file, set_config where the format needs it,
/// open, then any number of passes. After an error while loading only destruction is useful. One thread calls it.
class Engine {
 public:
  static Result<std::unique_ptr<Engine>> create(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Errors: wrong_state after open or while another file is being read.
  Result<void> begin_file(const FileOptions& options);
  /// Room for the next n bytes of the file, valid until the next call. Errors: bad_argument above 64 MB, out_of_memory.
  Result<std::span<std::byte>> chunk(std::size_t n);
  /// The first n bytes of the room are the file's next. Errors: all that a file can do wrong.
  Result<FeedStatus> commit(std::size_t n);
  /// Names of the external data files that are still wanted (ONNX), each to be read by begin_file under that name.
  Result<std::vector<std::string>> end_file();
  /// config.json of a safetensors or ONNX model, any time before open.
  Result<void> set_config(std::string_view json);

  Result<Directory> directory() const;
  /// Null where the file holds no tokenizer. The view lives as long as the engine.
  Result<std::optional<TokenizerView>> tokenizer() const;

  /// Checks that everything is there and makes ready to run. Errors: missing_tensor, shape_mismatch, bad_config, ….
  Result<ModelInfo> open();

  Result<std::unique_ptr<Pass>> create_pass(const PassOptions& options);

  struct State;

 private:
  explicit Engine(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// A pass: tokens, and what the network made of them. It keeps keys, values, final hidden states and, when asked,
/// queries; pages that two passes have in common exist once. It outlives its engine.
class Pass {
 public:
  ~Pass();
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  /// Queues tokens. Errors: empty_prompt, bad_token, context_full, wrong_state while a run is unfinished or after one
  /// that failed.
  Result<void> begin(std::span<const TokenId> ids);
  /// One slice of the work (about 25 ms of one thread). Errors: non_finite, naming the layer; then the pass is dead.
  Result<StepStatus> step();

  /// The first n tokens with other heads and links off, for step() to run. What lies below the first layer where that
  /// makes a difference is taken over, and the rest begins at most a few layers below it. Errors: as create_pass;
  /// bad_argument beyond the length, wrong_state without kept queries.
  Result<std::unique_ptr<Pass>> switched(std::uint32_t n, std::span<const Off> off) const;

  std::uint32_t length() const;
  std::uint64_t n_bytes() const;  ///< pages it refers to, shared ones too

  // Everything below needs a finished run, and positions inside it (else wrong_state, bad_argument).

  Result<Array<float>> logits(std::uint32_t pos) const;              ///< [n_vocab]
  Result<TopTokens> top(std::uint32_t k, std::uint32_t pos) const;   ///< k is cut to n_vocab
  Result<Array<float>> residual(std::uint32_t pos) const;            ///< [n_layer+1, n_embd] resid_post; 0: embedding
  Result<TopTokens> lens(std::uint32_t pos, std::uint32_t k) const;  ///< [n_layer+1, k] each
  /// centred: every term minus the same term of the mean row of lm_head.
  enum class Centre { kNone, kVocabularyMean };
  Result<Attribution> attribution(TokenId token, std::uint32_t pos, Centre centre) const;

  // And these the kept queries.

  Result<AttentionRow> row(std::uint32_t layer, std::uint32_t head, std::uint32_t query) const;
  Result<Array<float>> look(std::uint32_t query) const;                         ///< [n_layer, n_head, query+1] shares
  Result<Array<float>> looked_at_by(std::uint32_t key) const;                   ///< [n_layer, n_head, length]
  Result<Array<float>> pattern(std::uint32_t layer, std::uint32_t head) const;  ///< [length, length]
  Result<Array<float>> average() const;                                         ///< [length, length] mean of all heads
  /// [head_dim] q[i]·k[i], half-split order whatever the file's layout; sums to qk.
  Result<Array<float>> products(std::uint32_t layer, std::uint32_t head, std::uint32_t query, std::uint32_t key) const;
  /// [query+1] share × ‖o_proj · value‖
  Result<Array<float>> written(std::uint32_t layer, std::uint32_t head, std::uint32_t query) const;
  /// [n_layer · n_head, 6] previous_token, first_token, self, induction, duplicate_token, entropy; NaN: no position.
  Result<Array<float>> head_stats() const;
  Result<std::unique_ptr<Effects>> effects(TokenId token, std::uint32_t pos) const;

  struct State;

 private:
  friend class Engine;
  explicit Pass(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Each head off in turn, on top of the pass's own switches: what that does to one token at one position. It holds what
/// it needs of its pass.
class Effects {
 public:
  ~Effects();
  Effects(const Effects&) = delete;
  Effects& operator=(const Effects&) = delete;

  /// One slice (about 25 ms of one thread); rows as they finish, layer by layer from the first.
  Result<EffectsStatus> step();

  struct State;

 private:
  friend class Pass;
  explicit Effects(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lookback
