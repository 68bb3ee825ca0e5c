// Attention in SIMD, for simd128.cc and relaxed_simd.cc. Rows of queries that share a key/value head go together through
// register tiles, page by page, with the running maximum and sum of an online softmax.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/attention.h"
#include "kernels/simd.h"

namespace lookback::kernels {

template <class Isa>
class SimdAttention {
 public:
  static void run(const AttentionArgs& args, Workspace& workspace, base::ThreadPool& pool) {
    if (args.n_query <= kMaxPartialQueries) {
      run_by_pages(args, workspace, pool);
    } else {
      run_by_tiles(args, workspace, pool);
    }
  }

  static void scores(const AttentionRowArgs& args, float* qk) {
    alignas(16) float page_scores[kPagePositions];
    for (std::uint32_t first = 0; first < args.n_keys; first += kPagePositions) {
      const float* k =
          args.k_pages[first / kPagePositions] + std::size_t{args.kv_head} * kPagePositions * args.head_dim;
      const std::uint32_t n = std::min(kPagePositions, args.n_keys - first);
      score_page<1>(args.q, args.head_dim, k, n, page_scores);
      std::copy(page_scores, page_scores + n, qk + first);
    }
  }

 private:
  static constexpr std::uint32_t kRows = Isa::kTileRows;
  static constexpr std::uint32_t kPaddedRows = (kRows + 3) / 4 * 4;
  static constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

  // What one thread needs for one tile of rows.
  struct Tile {
    alignas(16) float q[kRows * kMaxHeadDim];  // already divided by sqrt(head_dim)
    alignas(16) float scores[kRows * kPagePositions];
    alignas(16) float out[kRows * kMaxHeadDim];  // [head_dim/8, rows, 8]
    float top[kRows];                            // largest score so far
    // In whole vectors; what pads them is never used.
    alignas(16) float sum[kPaddedRows];  // Σ exp(score − top)
    alignas(16) float page_sum[kPaddedRows];
    alignas(16) float rescale[kPaddedRows];
    std::uint32_t query[kRows];  // positions
    std::uint32_t head[kRows];
    float* partial[kRows];  // where a page's sums go
  };
  static_assert(sizeof(Tile) <= kThreadScratchBytes);

  static std::uint32_t group(const AttentionArgs& args) { return args.n_head / args.n_kv_head; }

  static const float* head_page(std::span<const float* const> pages, const AttentionArgs& args, std::uint32_t page,
                                std::uint32_t kv_head) {
    return pages[page] + std::size_t{kv_head} * kPagePositions * args.head_dim;
  }

  // Rows of a kv_head are (query, head of the group), heads fastest; a tile is `rows` of them from first_row on.
  // Behind them the last row is repeated until there are n_padded.
  static void load_tile(const AttentionArgs& args, std::uint32_t kv_head, std::uint32_t first_row, std::uint32_t rows,
                        std::uint32_t n_padded, Tile& tile) {
    const v128_t scale = wasm_f32x4_splat(1 / std::sqrt(static_cast<float>(args.head_dim)));
    for (std::uint32_t r = 0; r < n_padded; ++r) {
      const std::uint32_t row = first_row + std::min(r, rows - 1);
      const std::uint32_t index = row / group(args);
      tile.query[r] = args.first_pos + index;
      tile.head[r] = kv_head * group(args) + row % group(args);
      const float* q = args.q + index * args.q_stride + std::size_t{tile.head[r]} * args.head_dim;
      float* scaled = tile.q + std::size_t{r} * args.head_dim;
      for (std::uint32_t d = 0; d < args.head_dim; d += 4)
        wasm_v128_store(scaled + d, wasm_f32x4_mul(load(q + d), scale));
      tile.top[r] = kMinusInfinity;
    }
    std::fill(tile.out, tile.out + std::size_t{kRows} * args.head_dim, 0.0F);
    std::fill(tile.sum, tile.sum + kPaddedRows, 0.0F);
  }

  // Scores [rows, 64] of one page: later keys and cut links become −inf, then exp(score − top); top, sum and rescale follow.
  static void soften(const AttentionArgs& args, std::uint32_t page, std::uint32_t n_keys, std::uint32_t rows,
                     Tile& tile) {
    const std::uint32_t first_key = page * kPagePositions;
    const std::uint32_t n_padded = (n_keys + 7) / 8 * 8;
    for (const CutLink& cut : args.cuts) {
      if (cut.key < first_key || cut.key >= first_key + n_keys) continue;
      for (std::uint32_t r = 0; r < rows; ++r) {
        if (tile.head[r] == cut.head && tile.query[r] == cut.query) {
          tile.scores[r * kPagePositions + cut.key - first_key] = kMinusInfinity;
        }
      }
    }
    for (std::uint32_t r = 0; r < rows; ++r) {
      float* row = tile.scores + r * kPagePositions;
      const std::uint32_t allowed = std::min(n_padded, tile.query[r] + 1 - std::min(first_key, tile.query[r] + 1));
      std::fill(row + allowed, row + n_padded, kMinusInfinity);
      v128_t tops[2] = {wasm_f32x4_splat(kMinusInfinity), wasm_f32x4_splat(kMinusInfinity)};
      LOOKBACK_ROLLED
      for (std::uint32_t i = 0; i < n_padded; i += 8) {
        tops[0] = larger(tops[0], load(row + i));
        tops[1] = larger(tops[1], load(row + i + 4));
      }
      const float page_top = max_lanes(larger(tops[0], tops[1]));
      const float old_top = tile.top[r];
      tile.top[r] = std::max(old_top, page_top);  // NaN shows in the sums
      // Where nothing is allowed so far, everything below is exp(−inf − 0) = 0.
      const float shift = tile.top[r] == kMinusInfinity ? 0 : tile.top[r];
      tile.rescale[r] = old_top - shift;
      const v128_t shifts = wasm_f32x4_splat(shift);
      v128_t sum = wasm_f32x4_splat(0);
      LOOKBACK_ROLLED
      for (std::uint32_t i = 0; i < n_padded; i += 4) {
        const v128_t e = exp_f32x4<Isa>(wasm_f32x4_sub(load(row + i), shifts));
        sum = wasm_f32x4_add(sum, e);
        wasm_v128_store(row + i, e);
      }
      tile.page_sum[r] = sum_lanes(sum);
    }
    for (std::uint32_t r = 0; r < kPaddedRows; r += 4) {
      const v128_t rescale = exp_f32x4<Isa>(load(tile.rescale + r));
      wasm_v128_store(tile.rescale + r, rescale);
      wasm_v128_store(tile.sum + r, Isa::madd(load(tile.sum + r), rescale, load(tile.page_sum + r)));
    }
  }

  // out[r, d] = out[r, d] · rescale[r] + Σ_j scores[r, j] · v[j, d]
  static void add_values(const AttentionArgs& args, const float* v, std::uint32_t n_keys, Tile& tile) {
    for (std::uint32_t d = 0; d < args.head_dim; d += 8) {
      float* out = tile.out + std::size_t{d} * kRows;
      v128_t acc[kRows][2];
      for (std::uint32_t r = 0; r < kRows; ++r) {
        const v128_t rescale = wasm_v128_load32_splat(tile.rescale + r);
        acc[r][0] = wasm_f32x4_mul(load(out + r * 8), rescale);
        acc[r][1] = wasm_f32x4_mul(load(out + r * 8 + 4), rescale);
      }
      multiply_tile<Isa, kRows>(tile.scores, kPagePositions, v + d, args.head_dim, n_keys, acc);
      for (std::uint32_t r = 0; r < kRows; ++r) {
        wasm_v128_store(out + r * 8, acc[r][0]);
        wasm_v128_store(out + r * 8 + 4, acc[r][1]);
      }
    }
  }

  // Long blocks: keys are transposed once for all queries, then every tile of rows goes through all its pages.

  static void run_by_tiles(const AttentionArgs& args, Workspace& workspace, base::ThreadPool& pool) {
    const std::uint32_t n_pages = (args.first_pos + args.n_query + kPagePositions - 1) / kPagePositions;
    const std::size_t page_floats = std::size_t{kPagePositions} * args.head_dim;
    float* transposed = workspace.transposed_keys();
    pool.run(std::size_t{n_pages} * args.n_kv_head, 1, [&](std::size_t begin, std::size_t end, int) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto page = static_cast<std::uint32_t>(i / args.n_kv_head);
        const auto kv_head = static_cast<std::uint32_t>(i % args.n_kv_head);
        transpose_page(head_page(args.k_pages, args, page, kv_head), args.head_dim, transposed + i * page_floats);
      }
    });
    const std::uint32_t n_rows = args.n_query * group(args);
    const std::uint32_t n_tiles = (n_rows + kRows - 1) / kRows;
    pool.run(std::size_t{args.n_kv_head} * n_tiles, 1, [&](std::size_t begin, std::size_t end, int thread) {
      Tile& tile = *reinterpret_cast<Tile*>(workspace.thread_scratch(thread));
      for (std::size_t i = begin; i < end; ++i) {
        const auto kv_head = static_cast<std::uint32_t>(i / n_tiles);
        const auto first_row = static_cast<std::uint32_t>(i % n_tiles) * kRows;
        // The last tile repeats its last row, rather than having code for every count.
        const std::uint32_t rows = std::min(kRows, n_rows - first_row);
        load_tile(args, kv_head, first_row, rows, kRows, tile);
        attend_tile(args, kv_head, transposed, tile);
        store_tile(args, rows, tile);
      }
    });
  }

  static void attend_tile(const AttentionArgs& args, std::uint32_t kv_head, const float* transposed, Tile& tile) {
    const std::uint32_t last_key = tile.query[kRows - 1];
    const std::size_t page_floats = std::size_t{kPagePositions} * args.head_dim;
    for (std::uint32_t page = 0; page <= last_key / kPagePositions; ++page) {
      const std::uint32_t n_keys = std::min(kPagePositions, last_key + 1 - page * kPagePositions);
      const float* k = transposed + (std::size_t{page} * args.n_kv_head + kv_head) * page_floats;
      for (std::uint32_t key = 0; key < n_keys; key += 8) {
        v128_t acc[kRows][2];
        for (auto& row : acc) row[0] = row[1] = wasm_f32x4_splat(0);
        multiply_tile<Isa, kRows>(tile.q, args.head_dim, k + std::size_t{key} * args.head_dim, 8, args.head_dim, acc);
        for (std::uint32_t r = 0; r < kRows; ++r) {
          wasm_v128_store(tile.scores + r * kPagePositions + key, acc[r][0]);
          wasm_v128_store(tile.scores + r * kPagePositions + key + 4, acc[r][1]);
        }
      }
      soften(args, page, n_keys, kRows, tile);
      add_values(args, head_page(args.v_pages, args, page, kv_head), n_keys, tile);
    }
  }

  static void store_tile(const AttentionArgs& args, std::uint32_t rows, const Tile& tile) {
    for (std::uint32_t r = 0; r < rows; ++r) {
      float* out =
          args.out + (tile.query[r] - args.first_pos) * args.out_stride + std::size_t{tile.head[r]} * args.head_dim;
      const v128_t factor = wasm_f32x4_splat(1 / tile.sum[r]);
      for (std::uint32_t d = 0; d < args.head_dim; d += 4) {
        const float* from = tile.out + std::size_t{d / 8 * 8} * kRows + r * 8 + d % 8;
        wasm_v128_store(out + d, wasm_f32x4_mul(load(from), factor));
      }
    }
  }

  // k [64, head_dim] → [8 groups of 8 keys, head_dim, 8]
  static void transpose_page(const float* k, std::uint32_t head_dim, float* out) {
    for (std::uint32_t key = 0; key < kPagePositions; key += 4) {
      float* to = out + std::size_t{key / 8} * 8 * head_dim + key % 8;
      for (std::uint32_t d = 0; d < head_dim; d += 4) {
        const float* from = k + std::size_t{key} * head_dim + d;
        const v128_t r0 = load(from);
        const v128_t r1 = load(from + head_dim);
        const v128_t r2 = load(from + 2 * head_dim);
        const v128_t r3 = load(from + 3 * head_dim);
        const v128_t low01 = wasm_i32x4_shuffle(r0, r1, 0, 4, 1, 5);
        const v128_t high01 = wasm_i32x4_shuffle(r0, r1, 2, 6, 3, 7);
        const v128_t low23 = wasm_i32x4_shuffle(r2, r3, 0, 4, 1, 5);
        const v128_t high23 = wasm_i32x4_shuffle(r2, r3, 2, 6, 3, 7);
        wasm_v128_store(to + d * 8, wasm_i64x2_shuffle(low01, low23, 0, 2));
        wasm_v128_store(to + d * 8 + 8, wasm_i64x2_shuffle(low01, low23, 1, 3));
        wasm_v128_store(to + d * 8 + 16, wasm_i64x2_shuffle(high01, high23, 0, 2));
        wasm_v128_store(to + d * 8 + 24, wasm_i64x2_shuffle(high01, high23, 1, 3));
      }
    }
  }

  // Short blocks: the work is in reading keys and values once, so it is split by pages, and the pages' sums are joined.

  static void run_by_pages(const AttentionArgs& args, Workspace& workspace, base::ThreadPool& pool) {
    const std::uint32_t n_pages = (args.first_pos + args.n_query + kPagePositions - 1) / kPagePositions;
    const std::size_t partial_floats = args.head_dim + 2;
    float* partials = workspace.partials();
    pool.run(std::size_t{n_pages} * args.n_kv_head, 1, [&](std::size_t begin, std::size_t end, int thread) {
      Tile& tile = *reinterpret_cast<Tile*>(workspace.thread_scratch(thread));
      for (std::size_t i = begin; i < end; ++i) {
        const auto page = static_cast<std::uint32_t>(i / args.n_kv_head);
        const auto kv_head = static_cast<std::uint32_t>(i % args.n_kv_head);
        attend_page(args, page, kv_head, partials, tile);
      }
    });
    for (std::uint32_t i = 0; i < args.n_query; ++i) {
      const std::uint32_t own_pages = (args.first_pos + i) / kPagePositions + 1;
      for (std::uint32_t h = 0; h < args.n_head; ++h) {
        const float* first = partials + (std::size_t{i} * args.n_head + h) * partial_floats;
        join_pages(first, kMaxPartialQueries * args.n_head * partial_floats, own_pages, args.head_dim,
                   args.out + i * args.out_stride + std::size_t{h} * args.head_dim);
      }
    }
  }

  static void attend_page(const AttentionArgs& args, std::uint32_t page, std::uint32_t kv_head, float* partials,
                          Tile& tile) {
    const std::uint32_t n_rows = args.n_query * group(args);
    const std::size_t partial_floats = args.head_dim + 2;
    const float* k = head_page(args.k_pages, args, page, kv_head);
    const float* v = head_page(args.v_pages, args, page, kv_head);
    for (std::uint32_t first_row = 0; first_row < n_rows; first_row += kRows) {
      const std::uint32_t rows = std::min(kRows, n_rows - first_row);
      load_tile(args, kv_head, first_row, rows, rows, tile);
      const std::uint32_t last_key = tile.query[rows - 1];
      const std::uint32_t n_keys = std::min(kPagePositions, last_key + 1 - page * kPagePositions);
      for (std::uint32_t r = 0; r < rows; r += 3) {
        const float* q = tile.q + std::size_t{r} * args.head_dim;
        float* scores_out = tile.scores + r * kPagePositions;
        if (rows - r >= 3) {
          score_page<3>(q, args.head_dim, k, n_keys, scores_out);
        } else if (rows - r == 2) {
          score_page<2>(q, args.head_dim, k, n_keys, scores_out);
        } else {
          score_page<1>(q, args.head_dim, k, n_keys, scores_out);
        }
      }
      soften(args, page, n_keys, rows, tile);
      for (std::uint32_t r = 0; r < rows; ++r) {
        const std::uint32_t index = tile.query[r] - args.first_pos;
        float* partial =
            partials + ((std::size_t{page} * kMaxPartialQueries + index) * args.n_head + tile.head[r]) * partial_floats;
        tile.partial[r] = partial;
        partial[args.head_dim] = tile.top[r];
        partial[args.head_dim + 1] = tile.sum[r];
      }
      for (std::uint32_t r = 0; r < rows; r += 3) {
        if (rows - r >= 3) {
          sum_values<3>(args, v, n_keys, r, tile);
        } else if (rows - r == 2) {
          sum_values<2>(args, v, n_keys, r, tile);
        } else {
          sum_values<1>(args, v, n_keys, r, tile);
        }
      }
    }
  }

  // partial[r, d] = Σ_j scores[r, j] · v[j, d] for R rows from first_row on, 16 outputs at a time: as many chains of sums as the
  // multipliers take, and whole cache lines of v.
  template <std::uint32_t R>
  static void sum_values(const AttentionArgs& args, const float* v, std::uint32_t n_keys, std::uint32_t first_row,
                         Tile& tile) {
    const float* scores = tile.scores + first_row * kPagePositions;
    std::uint32_t d = 0;
    for (; d + 16 <= args.head_dim; d += 16) {
      v128_t acc[R][4];
      for (auto& row : acc) row[0] = row[1] = row[2] = row[3] = wasm_f32x4_splat(0);
      const float* value = v + d;
      const float* score = scores;
      LOOKBACK_ROLLED
      for (std::uint32_t j = 0; j < n_keys; ++j) {
#pragma clang loop unroll(full)
        for (std::uint32_t i = 0; i < 4; ++i) {
          const v128_t part = load(value + 4 * i);
#pragma clang loop unroll(full)
          for (std::uint32_t r = 0; r < R; ++r) {
            acc[r][i] = Isa::madd(wasm_v128_load32_splat(score + r * kPagePositions), part, acc[r][i]);
          }
        }
        value += args.head_dim;
        ++score;
      }
      for (std::uint32_t r = 0; r < R; ++r) {
        for (std::uint32_t i = 0; i < 4; ++i) wasm_v128_store(tile.partial[first_row + r] + d + 4 * i, acc[r][i]);
      }
    }
    for (; d < args.head_dim; d += 8) {
      v128_t acc[R][2];
      for (auto& row : acc) row[0] = row[1] = wasm_f32x4_splat(0);
      multiply_tile<Isa, R>(scores, kPagePositions, v + d, args.head_dim, n_keys, acc);
      for (std::uint32_t r = 0; r < R; ++r) {
        wasm_v128_store(tile.partial[first_row + r] + d, acc[r][0]);
        wasm_v128_store(tile.partial[first_row + r] + d + 4, acc[r][1]);
      }
    }
  }

  // out = Σ_p e^(top_p − top) · out_p / Σ_p e^(top_p − top) · sum_p
  static void join_pages(const float* partial, std::size_t stride, std::uint32_t n_pages, std::uint32_t head_dim,
                         float* out) {
    float top = kMinusInfinity;
    for (std::uint32_t p = 0; p < n_pages; ++p) top = std::max(top, partial[p * stride + head_dim]);
    float sum = 0;
    std::fill(out, out + head_dim, 0.0F);
    for (std::uint32_t p = 0; p < n_pages; ++p, partial += stride) {
      const float factor = std::exp(partial[head_dim] - top);
      sum += factor * partial[head_dim + 1];
      for (std::uint32_t d = 0; d < head_dim; ++d) out[d] += factor * partial[d];
    }
    const float factor = 1 / sum;
    for (std::uint32_t d = 0; d < head_dim; ++d) out[d] *= factor;
  }

  // scores[r, j] = q[r] · k[j], four keys at a time; keys that fill the last four are read (the page has them) and not used.
  template <std::uint32_t R>
  static void score_page(const float* q, std::uint32_t head_dim, const float* k, std::uint32_t n_keys, float* out) {
    for (std::uint32_t key = 0; key < n_keys; key += 4) {
      v128_t sum[R][4];
      for (auto& row : sum) {
        for (v128_t& s : row) s = wasm_f32x4_splat(0);
      }
      const float* from = k + std::size_t{key} * head_dim;
      LOOKBACK_ROLLED
      for (std::uint32_t d = 0; d < head_dim; d += 4) {
        v128_t query[R];
        for (std::uint32_t r = 0; r < R; ++r) query[r] = load(q + r * head_dim + d);
        for (std::uint32_t j = 0; j < 4; ++j) {
          const v128_t key_part = load(from + j * head_dim + d);
          for (std::uint32_t r = 0; r < R; ++r) sum[r][j] = Isa::madd(query[r], key_part, sum[r][j]);
        }
      }
      for (std::uint32_t r = 0; r < R; ++r) {
        const v128_t low01 = wasm_i32x4_shuffle(sum[r][0], sum[r][1], 0, 4, 1, 5);
        const v128_t high01 = wasm_i32x4_shuffle(sum[r][0], sum[r][1], 2, 6, 3, 7);
        const v128_t low23 = wasm_i32x4_shuffle(sum[r][2], sum[r][3], 0, 4, 1, 5);
        const v128_t high23 = wasm_i32x4_shuffle(sum[r][2], sum[r][3], 2, 6, 3, 7);
        const v128_t pair01 = wasm_f32x4_add(low01, high01);
        const v128_t pair23 = wasm_f32x4_add(low23, high23);
        wasm_v128_store(out + r * kPagePositions + key, wasm_f32x4_add(wasm_i64x2_shuffle(pair01, pair23, 0, 2),
                                                                       wasm_i64x2_shuffle(pair01, pair23, 1, 3)));
      }
    }
  }
};

}  // namespace lookback::kernels
