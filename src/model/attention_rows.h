// Attention of a kept pass: any row, on demand, from its queries and keys.
#pragma once

#include <cstdint>

#include "base/parallel.h"
#include "lookback/types.h"
#include "model/kept_pass.h"
#include "model/weights.h"

namespace lookback::model {

/// Reads rows of a pass that kept its queries. Indices are in range. A head that is off still has its rows: what is off
/// is what it writes. The pass and the pool outlive the reader.
class AttentionRows {
 public:
  AttentionRows(const ModelConfig& config, const KeptPass& pass, base::ThreadPool& pool)
      : config_(config), pass_(pass), pool_(pool) {}

  /// qk, scaled, share [query+1]
  Result<AttentionRow> row(std::uint32_t layer, std::uint32_t head, std::uint32_t query) const;
  /// [n_layer, n_head, query+1] shares of one query
  Result<Array<float>> look(std::uint32_t query) const;
  /// [n_layer, n_head, length] the share that each query gives to key; 0 before it
  Result<Array<float>> looked_at_by(std::uint32_t key) const;
  /// [length, length] shares of one head; 0 above the diagonal
  Result<Array<float>> pattern(std::uint32_t layer, std::uint32_t head) const;
  /// [length, length] mean of the patterns of all heads
  Result<Array<float>> average() const;
  /// [head_dim] q[i]·k[i] in half-split order; they sum to qk
  Result<Array<float>> products(std::uint32_t layer, std::uint32_t head, std::uint32_t query, std::uint32_t key) const;
  /// [query+1] share × ‖o_proj · value‖, the head's columns of o_proj
  Result<Array<float>> written(const Weights& weights, std::uint32_t layer, std::uint32_t head,
                               std::uint32_t query) const;

  /// share [query+1] of one row; scaled [query+1] is scratch.
  void share(std::uint32_t layer, std::uint32_t head, std::uint32_t query, std::span<float> scaled,
             std::span<float> share) const;

 private:
  void read(std::uint32_t layer, std::uint32_t head, std::uint32_t query, std::span<float> qk, std::span<float> scaled,
            std::span<float> share) const;

  const ModelConfig& config_;
  const KeptPass& pass_;
  base::ThreadPool& pool_;
};

}  // namespace lookback::model
