// Causal attention of one layer over paged keys and values, and single rows of it for reading later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "kernels/matmul.h"

namespace lookback::kernels {

/// Positions in one page of keys or values.
inline constexpr std::uint32_t kPagePositions = 64;

/// A link switched off: the score of (head, query, key) counts as −inf before the softmax.
struct CutLink {
  std::uint32_t head = 0;
  std::uint32_t query = 0;  ///< position, not index in the block
  std::uint32_t key = 0;
};

struct AttentionArgs {
  std::uint32_t n_head = 0;
  std::uint32_t n_kv_head = 0;  ///< divides n_head; head h reads key/value head h / (n_head / n_kv_head)
  std::uint32_t head_dim = 0;   ///< a multiple of 8, at most 256
  std::uint32_t first_pos = 0;  ///< position of query row 0
  std::uint32_t n_query = 0;    ///< 1 … kMaxTokens
  const float* q = nullptr;     ///< [n_query, n_head, head_dim] after rope, rows q_stride floats apart
  std::size_t q_stride = 0;
  /// Page p holds positions 64·p …; each points at this layer's [n_kv_head, kPagePositions, head_dim]. Positions up to
  /// first_pos + n_query − 1 are filled; what lies behind them in the last page is never used.
  std::span<const float* const> k_pages;
  std::span<const float* const> v_pages;
  std::span<const CutLink> cuts;  ///< of this layer, any order; a row must keep at least one link
  float* out = nullptr;           ///< [n_query, n_head, head_dim], rows out_stride floats apart
  std::size_t out_stride = 0;
};

/// attention: out[i, h] = Σ_{j ≤ i} softmax_j(q[i, h] · k[j, h/g] / sqrt(head_dim)) · v[j, h/g],   g = n_head /
/// n_kv_head Shape:  as in AttentionArgs      Alias: out must not overlap q Errors: none; shapes are CHECKed    Cost: 4 · n_head
/// · head_dim operations a (query, key) pair, one exp a pair and head Source: Vaswani et al. 2017; grouped queries:
/// Ainslie et al. 2023; sums over chunks of keys: Milakov & Gimelshein 2018. The result does not depend on the number
/// of threads.
void attention(const AttentionArgs& args, Workspace& workspace, base::ThreadPool& pool);

struct AttentionRowArgs {
  std::uint32_t n_kv_head = 0;
  std::uint32_t kv_head = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t n_keys = 0;                 ///< query position + 1
  const float* q = nullptr;                 ///< [head_dim], this head's query after rope
  std::span<const float* const> k_pages;    ///< as in AttentionArgs
  std::span<const std::uint32_t> cut_keys;  ///< keys whose link is switched off
};

/// attention_row: one query row of one head, as the pass saw it
/// qk[j] = q · k[j];  scaled[j] = qk[j] / sqrt(head_dim), −inf where cut;  share = softmax(scaled)
/// Shape:  qk, scaled, share [n_keys]; qk and share may be empty when not wanted     Alias: share may be scaled
/// Errors: none     Cost: 2 · head_dim · n_keys operations. Shares agree with attention's within 1e-6.
void attention_row(const AttentionRowArgs& args, std::span<float> qk, std::span<float> scaled, std::span<float> share);

}  // namespace lookback::kernels
