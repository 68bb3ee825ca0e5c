// Matmul in SIMD, for simd128.cc and relaxed_simd.cc.
//
// Three ways, by precision, tokens and layout:
//   tiles    exact, and whatever has no integer form: a panel of 8 rows is dequantised to f32 once a block of tokens, a few
//            hundred columns at a time (it stays in the first-level cache), then multiplied in register tiles.
//   codes    fast: activations in 16 bits, a panel unpacked to 16-bit codes, integer dots, scales applied once a unit.
//   rows     one to three tokens: integer dots straight from the packed codes. Fast takes one plane of 16 bits for an activation,
//            exact two, which hold it to 2^-31 of the largest of its 32, below the rounding of f32 sums, and are faster than f32.
//            With 4-bit codes a plane is two of bytes where the target has dots of bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/matmul.h"
#include "kernels/simd_activations.h"
#include "kernels/simd_panels.h"

namespace lookback::kernels {

template <class Isa>
class SimdMatmul {
 public:
  static void run(const MatmulInput& input, std::span<const Product> products, Precision precision,
                  Workspace& workspace, base::ThreadPool& pool) {
    Job job{input,     products[0].weights->cols(), products[0].weights->n_units(),
            precision, workspace.activations(0),    workspace.activations(1)};
    const bool by_rows = input.n_tokens <= kRowTokens;
    std::size_t n_panels = 0;
    bool wants_pairs = false;
    bool wants_bytes = false;
    for (const Product& product : products) {
      n_panels += product.weights->n_panels();
      const Layout layout = product.weights->layout();
      if (by_integers(layout, job)) (by_rows && takes_bytes(layout) ? wants_bytes : wants_pairs) = true;
    }
    // A row takes less than a microsecond: a barrier would cost as much as a second thread saves.
    if (wants_bytes) prepare_byte_rows(job);
    if (wants_pairs && by_rows) prepare_rows(job);
    if (wants_pairs && !by_rows) {
      pool.run((input.n_tokens + kCodeTokens - 1) / kCodeTokens, 1, [&](std::size_t begin, std::size_t end, int) {
        for (std::size_t tile = begin; tile < end; ++tile) prepare_codes(job, static_cast<std::uint32_t>(tile));
      });
    }
    pool.run(n_panels, 1, [&](std::size_t begin, std::size_t end, int thread) {
      Scratch& scratch = *reinterpret_cast<Scratch*>(workspace.thread_scratch(thread));
      std::size_t first = 0;
      for (const Product& product : products) {
        const std::size_t last = first + product.weights->n_panels();
        auto panel = static_cast<std::uint32_t>(std::max(begin, first) - first);
        const auto end_panel = static_cast<std::uint32_t>(std::max(std::min(end, last), first) - first);
        if (by_rows && by_integers(product.weights->layout(), job)) {
          panel = multiply_streams(job, product, panel, end_panel, scratch);
        }
        for (; panel < end_panel; ++panel) multiply_panel(job, product, panel, scratch);
        first = last;
      }
    });
  }

 private:
  static constexpr std::uint32_t kTileRows = Isa::kTileRows;
  static constexpr std::uint32_t kRowTokens = 3;   // up to here panels are multiplied row by row
  static constexpr std::uint32_t kStreams = 4;     // panels that go side by side there
  static constexpr std::uint32_t kCodeTokens = 4;  // tokens of an integer tile: [4, 8 rows] fills the registers
  static constexpr std::uint32_t kMaxUnits = 9;    // columns of a panel that are unpacked at a time, in units

  struct Job {
    const MatmulInput& input;
    std::uint32_t cols;
    std::uint32_t n_units;
    Precision precision;
    std::byte* pairs;  // activations in 16-bit planes, RowUnit or TileUnit
    std::byte* bytes;  // activations in planes of bytes, ByteUnit
  };

  struct Scratch {
    alignas(16) float sums[kMaxTokens][kPanelRows];
    union {
      alignas(16) float panel[kMaxUnits * kUnitCols * kPanelRows];
      CodeUnit codes[kMaxUnits];
    };
  };
  static_assert(sizeof(Scratch) <= kThreadScratchBytes);

  static bool by_integers(Layout layout, const Job& job) {
    const bool has_codes = layout == Layout::kQ4 || layout == Layout::kQ4F || layout == Layout::kQ8;
    return has_codes && (job.precision == Precision::kFast || job.input.n_tokens <= kRowTokens);
  }

  /// How dots of bytes are added up here; kNone where they cannot be had.
  enum class ByteSums { kNone, kPairs, kQuads };

  static ByteSums byte_sums() {
    if constexpr (Isa::kHasByteDot) {
      // V8 11's baseline compiler may overwrite the sum of a dot of bytes, depending on the code around it. So each of the
      // functions that are made of such dots is tried once, before it can be compiled better; where one fails, pairs of
      // 16 bits serve.
      static const ByteSums sums = [] {
        if (Isa::QuadSums::are_one_instruction() && byte_rows_work<typename Isa::QuadSums>()) return ByteSums::kQuads;
        return byte_rows_work<typename Isa::PairSums>() ? ByteSums::kPairs : ByteSums::kNone;
      }();
      return sums;
    }
    return ByteSums::kNone;
  }

  static bool takes_bytes(Layout layout) { return layout != Layout::kQ8 && byte_sums() != ByteSums::kNone; }

  template <class Sums>
  [[gnu::noinline, clang::minsize]] static bool byte_rows_work() {
    return byte_rows_work_in<Layout::kQ4, 1, Sums>() && byte_rows_work_in<Layout::kQ4, 2, Sums>() &&
           byte_rows_work_in<Layout::kQ4F, 1, Sums>() && byte_rows_work_in<Layout::kQ4F, 2, Sums>();
  }

  template <Layout L, std::uint32_t P, class Sums>
  [[gnu::noinline, clang::minsize]] static bool byte_rows_work_in() {
    constexpr std::uint32_t kUnits = 2;
    alignas(16) std::byte units[kUnits * 192];
    static_assert(sizeof units >= kUnits * (128 + 2 * kPanelRows * sizeof(float)));
    float x[kUnits * kUnitCols];
    for (std::uint32_t i = 0; i < kUnits; ++i) {
      std::byte* unit = units + i * unit_bytes(L);
      for (std::uint32_t j = 0; j < 128; ++j) unit[j] = static_cast<std::byte>(j * 37 + i);
      for (std::uint32_t r = 0; r < 2 * kPanelRows; ++r) {
        const float one = 1;
        const std::uint16_t half_one = 0x3c00;
        if (L == Layout::kQ4F) std::memcpy(unit + 128 + 4 * r, &one, sizeof one);
        if (L == Layout::kQ4) std::memcpy(unit + 128 + 2 * r, &half_one, sizeof half_one);
      }
    }
    for (std::uint32_t c = 0; c < kUnits * kUnitCols; ++c) x[c] = static_cast<float>(c * 7 % 31) - 13;
    ByteUnit<P> bytes[kUnits];
    RowUnit<1> pairs[kUnits];
    prepare_bytes<P>(x, kUnits * kUnitCols, bytes);
    prepare_row<1>(x, kUnits * kUnitCols, pairs);
    alignas(16) float by_bytes[kPanelRows];
    alignas(16) float by_pairs[kPanelRows];
    const Panels panel{units, 0, 1};
    multiply_byte_rows<L, P, Sums>(panel, bytes, kUnits, by_bytes);
    multiply_pair_rows<L, 1>(panel, pairs, kUnits, by_pairs);
    for (std::uint32_t r = 0; r < kPanelRows; ++r) {
      if (!(std::abs(by_bytes[r] - by_pairs[r]) < 1)) return false;  // of sums of some hundreds, rounded at 2^-16
    }
    return true;
  }

  static void multiply_panel(const Job& job, const Product& product, std::uint32_t panel, Scratch& scratch) {
    const Layout layout = product.weights->layout();
    if (!by_integers(layout, job)) {
      if (job.input.n_tokens == 1 && layout >= Layout::kF16) {
        multiply_float_row(job, product, panel, scratch);
      } else {
        multiply_tiles(job, product, panel, scratch);
      }
    } else if (job.input.n_tokens <= kRowTokens) {
      return multiply_rows(job, product, {.first = panel, .apart = 0, .n = 1}, scratch);
    } else if (layout == Layout::kQ4) {
      multiply_codes<Layout::kQ4>(job, product.weights->panel(panel), scratch);
    } else if (layout == Layout::kQ4F) {
      multiply_codes<Layout::kQ4F>(job, product.weights->panel(panel), scratch);
    } else {
      multiply_codes<Layout::kQ8>(job, product.weights->panel(panel), scratch);
    }
    for (std::uint32_t t = 0; t < job.input.n_tokens; ++t) write(product, panel, t, scratch.sums[t]);
  }

  static void write(const Product& product, std::uint32_t panel, std::uint32_t token, const float* sums) {
    const std::uint32_t first = panel * kPanelRows;
    const std::uint32_t n = std::min(kPanelRows, product.weights->rows() - first);
    float* y = product.y + token * product.y_stride + first;
    if (n == kPanelRows) {
      v128_t low = load(sums);
      v128_t high = load(sums + 4);
      if (product.write == Write::kAdd) {
        low = wasm_f32x4_add(load(y), low);
        high = wasm_f32x4_add(load(y + 4), high);
      }
      wasm_v128_store(y, low);
      wasm_v128_store(y + 4, high);
      return;
    }
    for (std::uint32_t r = 0; r < n; ++r) y[r] = product.write == Write::kAdd ? y[r] + sums[r] : sums[r];
  }

  // Columns are taken in equal parts of at most kMaxUnits; each part's sums are short, which also keeps rounding small.
  static std::uint32_t part_units(std::uint32_t n_units) {
    const std::uint32_t parts = (n_units + kMaxUnits - 1) / kMaxUnits;
    return (n_units + parts - 1) / parts;
  }

  // Rows of the next tile. The last two share what is left: four rows still fill the multipliers, one to three do not.
  static std::uint32_t tile_rows(std::uint32_t left) {
    if (left <= kTileRows) return left;
    return left < 2 * kTileRows ? (left + 1) / 2 : kTileRows;
  }

  static void multiply_tiles(const Job& job, const Product& product, std::uint32_t panel, Scratch& scratch) {
    const PackedMatrix& weights = *product.weights;
    const std::size_t step = unit_bytes(weights.layout());
    const std::uint32_t part = part_units(job.n_units);
    for (std::uint32_t first = 0; first < job.n_units; first += part) {
      const std::uint32_t units = std::min(part, job.n_units - first);
      const std::byte* packed = weights.panel(panel) + first * step;
      const float* b = scratch.panel;
      if (weights.layout() == Layout::kF32) {
        b = reinterpret_cast<const float*>(packed);
      } else {
        PanelToF32<Isa>::run(weights.layout(), packed, units, scratch.panel);
      }
      const std::uint32_t first_col = first * kUnitCols;
      const std::uint32_t n_cols = std::min(units * kUnitCols, job.cols - first_col);
      std::uint32_t rows = 0;
      for (std::uint32_t t = 0; t < job.input.n_tokens; t += rows) {
        rows = tile_rows(job.input.n_tokens - t);
        const float* a = job.input.x + t * job.input.x_stride + first_col;
        with_rows<Isa>(rows, [&]<std::uint32_t R>() {
          v128_t acc[R][2];
          for (auto& row : acc) row[0] = row[1] = wasm_f32x4_splat(0);
          multiply_tile<Isa, R>(a, job.input.x_stride, b, kPanelRows, n_cols, acc);
          add_sums<R>(acc, first == 0, scratch.sums[t]);
        });
      }
    }
  }

  template <std::uint32_t R>
  static void add_sums(const v128_t (&acc)[R][2], bool first, float* sums) {
    for (std::uint32_t r = 0; r < R; ++r, sums += kPanelRows) {
      wasm_v128_store(sums, first ? acc[r][0] : wasm_f32x4_add(load(sums), acc[r][0]));
      wasm_v128_store(sums + 4, first ? acc[r][1] : wasm_f32x4_add(load(sums + 4), acc[r][1]));
    }
  }

  // One token against unquantised weights: four chains of sums, joined once a unit.
  static void multiply_float_row(const Job& job, const Product& product, std::uint32_t panel, Scratch& scratch) {
    switch (product.weights->layout()) {
      case Layout::kF32:
        return multiply_float_row_of<Layout::kF32>(job, product, panel, scratch);
      case Layout::kF16:
        return multiply_float_row_of<Layout::kF16>(job, product, panel, scratch);
      default:
        return multiply_float_row_of<Layout::kBF16>(job, product, panel, scratch);
    }
  }

  template <Layout L>
  static void multiply_float_row_of(const Job& job, const Product& product, std::uint32_t panel, Scratch& scratch) {
    const std::byte* w = product.weights->panel(panel);
    const float* x = job.input.x;
    const v128_t mask = load(simd_constants.half_bits.data());
    v128_t total[2] = {wasm_f32x4_splat(0), wasm_f32x4_splat(0)};
    for (std::uint32_t col = 0; col < job.cols; col += kUnitCols) {
      const std::uint32_t n = std::min(kUnitCols, job.cols - col);
      v128_t sum[4] = {wasm_f32x4_splat(0), wasm_f32x4_splat(0), wasm_f32x4_splat(0), wasm_f32x4_splat(0)};
      std::uint32_t k = 0;
      LOOKBACK_ROLLED
      for (; k + 2 <= n; k += 2) {
        for (std::uint32_t chain = 0; chain < 2; ++chain) {
          v128_t low;
          v128_t high;
          load_floats<L>(w, mask, low, high);
          w += unit_bytes(L) / kUnitCols;
          const v128_t splat = wasm_v128_load32_splat(x + k + chain);
          sum[2 * chain] = Isa::madd(splat, low, sum[2 * chain]);
          sum[2 * chain + 1] = Isa::madd(splat, high, sum[2 * chain + 1]);
        }
      }
      if (k < n) {
        v128_t low;
        v128_t high;
        load_floats<L>(w, mask, low, high);
        const v128_t splat = wasm_v128_load32_splat(x + k);
        sum[0] = Isa::madd(splat, low, sum[0]);
        sum[1] = Isa::madd(splat, high, sum[1]);
      }
      x += kUnitCols;
      total[0] = wasm_f32x4_add(total[0], wasm_f32x4_add(sum[0], sum[2]));
      total[1] = wasm_f32x4_add(total[1], wasm_f32x4_add(sum[1], sum[3]));
    }
    wasm_v128_store(scratch.sums[0], total[0]);
    wasm_v128_store(scratch.sums[0] + 4, total[1]);
  }

  template <Layout L>
  static void load_floats(const std::byte* w, v128_t mask, v128_t& low, v128_t& high) {
    const v128_t first = load(w);
    if constexpr (L == Layout::kF32) {
      low = first;
      high = load(w + 16);
    } else if constexpr (L == Layout::kF16) {
      low = f16_to_f32_low(first, mask);
      high = f16_to_f32_high(first, mask);
    } else {
      low = wasm_i32x4_shl(wasm_u32x4_extend_low_u16x8(first), 16);
      high = wasm_i32x4_shl(wasm_u32x4_extend_high_u16x8(first), 16);
    }
  }

  // Integer activations.

  static void prepare_rows(const Job& job) {
    for (std::uint32_t t = 0; t < job.input.n_tokens; ++t) {
      const float* x = job.input.x + t * job.input.x_stride;
      if (job.precision == Precision::kFast) {
        prepare_row<1>(x, job.cols, row_units<1>(job, t));
      } else {
        prepare_row<2>(x, job.cols, row_units<2>(job, t));
      }
    }
  }
  template <std::uint32_t P>
  static RowUnit<P>* row_units(const Job& job, std::uint32_t token) {
    return reinterpret_cast<RowUnit<P>*>(job.pairs) + std::size_t{token} * job.n_units;
  }

  static void prepare_codes(const Job& job, std::uint32_t tile) {
    TileUnit* out = tile_units(job, tile);
    const std::uint32_t first = tile * kCodeTokens;
    prepare_tile(job.input.x + first * job.input.x_stride, job.input.x_stride,
                 std::min(kCodeTokens, job.input.n_tokens - first), job.cols, out);
  }
  static TileUnit* tile_units(const Job& job, std::uint32_t tile) {
    return reinterpret_cast<TileUnit*>(job.pairs) + std::size_t{tile} * job.n_units;
  }

  static void prepare_byte_rows(const Job& job) {
    for (std::uint32_t t = 0; t < job.input.n_tokens; ++t) {
      const float* x = job.input.x + t * job.input.x_stride;
      if (job.precision == Precision::kFast) {
        prepare_bytes<1>(x, job.cols, byte_units<1>(job, t));
      } else {
        prepare_bytes<2>(x, job.cols, byte_units<2>(job, t));
      }
    }
  }
  template <std::uint32_t P>
  static ByteUnit<P>* byte_units(const Job& job, std::uint32_t token) {
    return reinterpret_cast<ByteUnit<P>*>(job.bytes) + std::size_t{token} * job.n_units;
  }

  // Panels that are multiplied side by side: first, first + apart …, n of them.
  struct Streams {
    std::uint32_t first;
    std::uint32_t apart;
    std::uint32_t n;
  };

  // n panels whose bytes are `apart` from one another.
  struct Panels {
    const std::byte* first;
    std::size_t apart;
    std::uint32_t n;
  };

  // One token waits for memory, and a processor fetches several streams ahead faster than one, when they are some pages apart:
  // so panels go in fours, one of each quarter. Answers the first panel that is left.
  static std::uint32_t multiply_streams(const Job& job, const Product& product, std::uint32_t begin, std::uint32_t end,
                                        Scratch& scratch) {
    if (begin >= end) return end;
    const std::uint32_t apart = (end - begin) / kStreams;
    for (std::uint32_t i = 0; i < apart; ++i) {
      multiply_rows(job, product, {.first = begin + i, .apart = apart, .n = kStreams}, scratch);
    }
    return begin + apart * kStreams;
  }

  static void multiply_rows(const Job& job, const Product& product, const Streams& streams, Scratch& scratch) {
    const Layout layout = product.weights->layout();
    for (std::uint32_t t = 0; t < job.input.n_tokens; ++t) {
      float* sums = scratch.sums[0];
      if (layout == Layout::kQ4) {
        multiply_rows_of<Layout::kQ4>(job, product, streams, t, sums);
      } else if (layout == Layout::kQ4F) {
        multiply_rows_of<Layout::kQ4F>(job, product, streams, t, sums);
      } else {
        multiply_rows_of<Layout::kQ8>(job, product, streams, t, sums);
      }
      for (std::uint32_t s = 0; s < streams.n; ++s) {
        write(product, streams.first + s * streams.apart, t, scratch.sums[s]);
      }
    }
  }

  template <Layout L>
  static void multiply_rows_of(const Job& job, const Product& product, const Streams& streams, std::uint32_t t,
                               float* sums) {
    const std::byte* weights = product.weights->panel(streams.first);
    const Panels panels{
        weights, static_cast<std::size_t>(product.weights->panel(streams.first + streams.apart) - weights), streams.n};
    if (job.precision == Precision::kFast) {
      multiply_rows_in<L, 1>(job, panels, t, sums);
    } else {
      multiply_rows_in<L, 2>(job, panels, t, sums);
    }
  }

  template <Layout L, std::uint32_t P>
  static void multiply_rows_in(const Job& job, const Panels& panels, std::uint32_t t, float* sums) {
    if constexpr (Isa::kHasByteDot && L != Layout::kQ8) {
      const ByteUnit<P>* units = byte_units<P>(job, t);
      switch (byte_sums()) {
        case ByteSums::kQuads:
          return multiply_byte_rows<L, P, typename Isa::QuadSums>(panels, units, job.n_units, sums);
        case ByteSums::kPairs:
          return multiply_byte_rows<L, P, typename Isa::PairSums>(panels, units, job.n_units, sums);
        case ByteSums::kNone:
          break;
      }
    }
    multiply_pair_rows<L, P>(panels, row_units<P>(job, t), job.n_units, sums);
  }

  // out [panels, 8 rows]: unit by unit, each of every panel in turn.
  template <Layout L, typename Unit, typename AddUnit>
  static void for_units(const Panels& panels, const Unit* x, std::uint32_t n_units, float* out, AddUnit&& add_unit) {
    std::fill(out, out + std::size_t{panels.n} * kPanelRows, 0.0F);
    const std::byte* column = panels.first;
    for (std::uint32_t i = 0; i < n_units; ++i, ++x, column += unit_bytes(L)) {
      const std::byte* unit = column;
      float* sums = out;
      LOOKBACK_ROLLED
      for (std::uint32_t s = 0; s < panels.n; ++s, unit += panels.apart, sums += kPanelRows) add_unit(unit, *x, sums);
    }
  }

  // Dots of bytes: a word of four columns of codes needs no widening. A function of its own, so that what was tried is what runs.
  template <Layout L, std::uint32_t P, class Sums>
  [[gnu::noinline]] static void multiply_byte_rows(const Panels& panels, const ByteUnit<P>* units,
                                                   std::uint32_t n_units, float* out) {
    const v128_t mask = load(simd_constants.low_nibble_i8.data());
    for_units<L>(panels, units, n_units, out, [&](const std::byte* unit, const ByteUnit<P>& x, float* total) {
      // Where sums have 16 bits: 8 dots of two products, each at most 128 · 15, stay below 2^15.
      v128_t sum[P][2][2];
      for (auto& plane : sum) plane[0][0] = plane[0][1] = plane[1][0] = plane[1][1] = wasm_i16x8_splat(0);
      const std::byte* codes = unit;
      const std::int8_t* word = &x.planes[0][0][0];
      LOOKBACK_ROLLED
      for (std::uint32_t v = 0; v < 4; ++v) {
        for (std::uint32_t half = 0; half < 2; ++half) {
          const v128_t rows = load(codes + 16 * half);
          const v128_t low = wasm_v128_and(rows, mask);
          const v128_t high = wasm_v128_and(wasm_u16x8_shr(rows, 4), mask);
          for (std::uint32_t p = 0; p < 2 * P; ++p) {
            const std::int8_t* plane = word + p * kUnitCols;
            v128_t& to = sum[p / 2][p % 2][half];
            to = Sums::add(to, wasm_v128_load32_splat(plane), low);
            to = Sums::add(to, wasm_v128_load32_splat(plane + 16), high);
          }
        }
        codes += 32;
        word += 4;
      }
      const UnitScales s = unit_scales<L>(unit);
      const v128_t scale = wasm_v128_load32_splat(&x.scale);
      const v128_t x_sum = wasm_v128_load32_splat(&x.sum);
      for (std::uint32_t half = 0; half < 2; ++half) {
        // 16 bits · 15 · 32 columns stay below 2^24, so the conversion is exact.
        const auto plane_sum = [&](std::uint32_t p) {
          const v128_t high = wasm_i32x4_shl(Sums::to_i32(sum[p][0][half]), 8);
          return wasm_f32x4_convert_i32x4(wasm_i32x4_add(high, Sums::to_i32(sum[p][1][half])));
        };
        v128_t value = plane_sum(0);
        if constexpr (P == 2) value = Isa::madd(plane_sum(1), wasm_f32x4_splat(kSecondPlane), value);
        const v128_t product = Isa::madd(value, wasm_f32x4_mul(scale, s.scale[half]), load(total + 4 * half));
        wasm_v128_store(total + 4 * half, Isa::madd(x_sum, s.minimum[half], product));
      }
    });
  }

  // sum[plane][half] += codes of one pair of columns · activations
  template <std::uint32_t P>
  static void add_pair(const std::int16_t* pair, v128_t low_rows, v128_t high_rows, v128_t (&sum)[P][2]) {
    for (std::uint32_t plane = 0; plane < P; ++plane) {
      const v128_t x = wasm_v128_load32_splat(pair + plane * kUnitCols);
      sum[plane][0] = wasm_i32x4_add(sum[plane][0], wasm_i32x4_dot_i16x8(low_rows, x));
      sum[plane][1] = wasm_i32x4_add(sum[plane][1], wasm_i32x4_dot_i16x8(high_rows, x));
    }
  }

  template <Layout L, std::uint32_t P>
  [[gnu::noinline]] static void multiply_pair_rows(const Panels& panels, const RowUnit<P>* units, std::uint32_t n_units,
                                                   float* out) {
    const v128_t mask = load(simd_constants.low_nibble_i16.data());
    for_units<L>(panels, units, n_units, out, [&](const std::byte* unit, const RowUnit<P>& x, float* total) {
      v128_t sum[P][2];
      for (auto& plane : sum) plane[0] = plane[1] = wasm_i32x4_splat(0);
      const std::byte* codes = unit;
      const std::int16_t* pairs = &x.planes[0][0];
      LOOKBACK_ROLLED
      for (std::uint32_t v = 0; v < (L == Layout::kQ8 ? 8 : 4); ++v) {
        const v128_t low_rows = load(codes);
        const v128_t high_rows = load(codes + 16);
        if constexpr (L == Layout::kQ8) {
          const CodePairs low = byte_pairs(low_rows);
          const CodePairs high = byte_pairs(high_rows);
          add_pair<P>(pairs, low.even, high.even, sum);
          add_pair<P>(pairs + 2, low.odd, high.odd, sum);
        } else {
          const CodePairs low = low_nibble_pairs(low_rows, mask);
          const CodePairs high = low_nibble_pairs(high_rows, mask);
          add_pair<P>(pairs, low.even, high.even, sum);
          add_pair<P>(pairs + 2, low.odd, high.odd, sum);
          const CodePairs low_second = high_nibble_pairs(low_rows, mask);
          const CodePairs high_second = high_nibble_pairs(high_rows, mask);
          add_pair<P>(pairs + 16, low_second.even, high_second.even, sum);
          add_pair<P>(pairs + 18, low_second.odd, high_second.odd, sum);
        }
        codes += 32;
        pairs += 4;
      }
      const UnitScales s = unit_scales<L>(unit);
      const v128_t scale = wasm_v128_load32_splat(&x.scale);
      for (std::uint32_t half = 0; half < 2; ++half) {
        v128_t value = wasm_f32x4_convert_i32x4(sum[0][half]);
        if constexpr (P == 2) {
          value = Isa::madd(wasm_f32x4_convert_i32x4(sum[1][half]), wasm_f32x4_splat(kSecondPlane), value);
        }
        v128_t sums = Isa::madd(value, wasm_f32x4_mul(scale, s.scale[half]), load(total + 4 * half));
        if constexpr (L != Layout::kQ8) sums = Isa::madd(wasm_v128_load32_splat(&x.sum), s.minimum[half], sums);
        wasm_v128_store(total + 4 * half, sums);
      }
    });
  }

  template <Layout L>
  static void multiply_codes(const Job& job, const std::byte* weights, Scratch& scratch) {
    const std::uint32_t part = part_units(job.n_units);
    const std::uint32_t n_tiles = (job.input.n_tokens + kCodeTokens - 1) / kCodeTokens;
    for (std::uint32_t first = 0; first < job.n_units; first += part) {
      const std::uint32_t units = std::min(part, job.n_units - first);
      panel_to_codes<L>(weights + first * std::size_t{unit_bytes(L)}, units, scratch.codes);
      for (std::uint32_t tile = 0; tile < n_tiles; ++tile) {
        multiply_code_tile(tile_units(job, tile) + first, scratch.codes, units, L != Layout::kQ8, first == 0,
                           scratch.sums[tile * kCodeTokens]);
      }
    }
  }

  // sums [4 tokens, 8 rows] += scales applied to the integer dots of each unit, plus minima times the activations' sums.
  static void multiply_code_tile(const TileUnit* x, const CodeUnit* w, std::uint32_t n_units, bool has_minima, bool set,
                                 float* sums) {
    v128_t total[kCodeTokens][2];
    for (std::uint32_t t = 0; t < kCodeTokens; ++t) {
      total[t][0] = set ? wasm_f32x4_splat(0) : load(sums + t * kPanelRows);
      total[t][1] = set ? wasm_f32x4_splat(0) : load(sums + t * kPanelRows + 4);
    }
    for (std::uint32_t i = 0; i < n_units; ++i, ++x, ++w) {
      v128_t acc[kCodeTokens][2];
      for (auto& row : acc) row[0] = row[1] = wasm_i32x4_splat(0);
      const std::int16_t* pair = &x->pairs[0][0][0];
      const std::int16_t* codes = &w->pairs[0][0][0];
      LOOKBACK_ROLLED
      for (std::uint32_t k = 0; k < 16; ++k) {
        const v128_t low_rows = load(codes);
        const v128_t high_rows = load(codes + 8);
#pragma clang loop unroll(full)
        for (std::uint32_t t = 0; t < kCodeTokens; ++t) {
          const v128_t splat = wasm_v128_load32_splat(pair + 2 * t);
          acc[t][0] = wasm_i32x4_add(acc[t][0], wasm_i32x4_dot_i16x8(low_rows, splat));
          acc[t][1] = wasm_i32x4_add(acc[t][1], wasm_i32x4_dot_i16x8(high_rows, splat));
        }
        codes += 16;
        pair += 2 * kCodeTokens;
      }
      for (std::uint32_t half = 0; half < 2; ++half) {
        const v128_t scale = load(w->scale + half * 4);
        const v128_t minimum = load(w->minimum + half * 4);
        for (std::uint32_t t = 0; t < kCodeTokens; ++t) {
          total[t][half] = Isa::madd(wasm_f32x4_convert_i32x4(acc[t][half]),
                                     wasm_f32x4_mul(wasm_v128_load32_splat(x->scale + t), scale), total[t][half]);
          if (has_minima) total[t][half] = Isa::madd(wasm_v128_load32_splat(x->sum + t), minimum, total[t][half]);
        }
      }
    }
    for (std::uint32_t t = 0; t < kCodeTokens; ++t) {
      wasm_v128_store(sums + t * kPanelRows, total[t][0]);
      wasm_v128_store(sums + t * kPanelRows + 4, total[t][1]);
    }
  }
};

}  // namespace lookback::kernels
