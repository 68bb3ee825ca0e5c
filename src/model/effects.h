// Effects: each head off in turn, and what that does to one token at one position. Written to be slow only where it must:
// below the layer of a head nothing changes, so nothing there is run again; the heads of a layer run as one block of
// rows; of the last layer only the asked position is finished.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lookback/types.h"
#include "model/distribution.h"
#include "model/forward.h"
#include "model/kept_pass.h"

namespace lookback::model {

class Effects {
 public:
  /// pass must have kept queries and hidden states; forward outlives the object. Errors: out_of_memory.
  static Result<Effects> create(Forward& forward, KeptPass pass, TokenId token, std::uint32_t pos);

  /// One slice of at most about kMaxRows rows through one layer. Errors: non_finite.
  Result<EffectsStatus> step(Forward& forward);

 private:
  /// For each layer, in this order. Variant h of a layer is the pass with head h off there.
  enum class Stage {
    kClean,     // the unchanged pass: heads' outputs of this layer at positions 0 … pos
    kAblate,    // this layer with one head zeroed before o_proj, once a head
    kLater,     // the layers above, over each variant's own keys and values
    kLastKeys,  // of the last layer the keys and values of all positions
    kLogits,    // the asked position through the last layer, and its logits
    kAdvance,   // the unchanged stream through this layer, to stand before the next
    kDone,
  };

  Effects(const ModelConfig& config, KeptPass pass, TokenId token, std::uint32_t pos)
      : config_(config), pass_(std::move(pass)), token_(token), pos_(pos) {}

  /// One block of the current stage; adds its multiply-adds to work.
  Result<void> run_block(Forward& forward, double* work, std::vector<EffectRow>* rows);
  Result<void> clean_block(Forward& forward, std::uint32_t first, std::uint32_t n);
  Result<void> ablate_block(Forward& forward, std::uint32_t first, std::uint32_t n);
  Result<void> later_block(Forward& forward, std::uint32_t first, std::uint32_t n);
  Result<void> logits_block(Forward& forward, std::vector<EffectRow>* rows);
  Result<void> advance_block(Forward& forward, std::uint32_t first, std::uint32_t n);
  void next_stage();

  std::uint32_t n_pos() const { return pos_ + 1; }
  std::uint32_t last_layer() const { return config_.n_layer - 1; }
  float* clean_stream(std::uint32_t pos);
  float* clean_heads(std::uint32_t pos);
  float* block_row(std::uint32_t row);
  /// variants_ at n positions from first ↔ block rows, head after head.
  void gather(std::uint32_t first, std::uint32_t n);
  void scatter(std::uint32_t first, std::uint32_t n);

  ModelConfig config_;
  KeptPass pass_;
  TokenId token_;
  std::uint32_t pos_;

  Stage stage_ = Stage::kClean;
  std::uint32_t layer_ = 0;     // whose heads are off
  std::uint32_t at_layer_ = 0;  // where kLater and kLastKeys are
  std::uint32_t next_pos_ = 0;  // of the stage's sweep over positions

  base::AlignedBuffer clean_;        // [n_pos, n_embd] the unchanged stream before layer_
  base::AlignedBuffer heads_;        // [n_pos, n_head, head_dim] the unchanged heads' outputs of layer_
  base::AlignedBuffer variants_;     // [n_head, n_pos, n_embd] the changed streams
  base::AlignedBuffer rows_;         // [kMaxRows, n_embd] the block that runs
  std::vector<KvCache> caches_;      // [n_head] keys and values of the layer that runs
  std::vector<KvCache*> sequences_;  // the same as a block names them
  KlFrom clean_distribution_;        // of the unchanged pass at pos
  Array<float> logits_;              // [n_head, n_vocab]
};

}  // namespace lookback::model
