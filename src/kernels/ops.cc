#include "kernels/ops.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "kernels/variants.h"

namespace lookback::kernels {
namespace {

// Rows are handed to the pool in pieces worth a barrier: about 4096 floats.
std::size_t rows_grain(std::size_t n) { return 1 + 4096 / (n + 1); }

}  // namespace

std::string_view variant_name() { return kRunning->name; }

void rms_norm(ConstRows x, std::span<const float> w, float eps, Rows y, std::uint32_t n_rows, base::ThreadPool& pool) {
  CHECK(!w.empty(), "a row to normalise");
  pool.run(n_rows, rows_grain(w.size()), [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t r = begin; r < end; ++r) {
      kRunning->rms_norm(x.data + r * x.stride, w.data(), eps, y.data + r * y.stride, w.size());
    }
  });
}

void rope_table(double base, std::uint32_t head_dim, std::uint32_t first_pos, std::uint32_t n_pos,
                std::span<float> table) {
  CHECK(table.size() == std::size_t{n_pos} * head_dim, "room for cos and sin of each pair");
  const std::uint32_t half = head_dim / 2;
  for (std::uint32_t i = 0; i < half; ++i) {
    const double frequency = std::pow(base, -2.0 * i / head_dim);
    for (std::uint32_t p = 0; p < n_pos; ++p) {
      const double angle = (first_pos + p) * frequency;
      table[(std::size_t{p} * half + i) * 2] = static_cast<float>(std::cos(angle));
      table[(std::size_t{p} * half + i) * 2 + 1] = static_cast<float>(std::sin(angle));
    }
  }
}

void rope(Rows x, std::uint32_t n_rows, std::uint32_t n_head, std::uint32_t head_dim, std::span<const float> table,
          RopePairing pairing, base::ThreadPool& pool) {
  CHECK(head_dim % 2 == 0 && table.size() == std::size_t{n_rows} * head_dim, "a table row a row");
  pool.run(n_rows, rows_grain(std::size_t{n_head} * head_dim), [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t r = begin; r < end; ++r) {
      kRunning->rope(x.data + r * x.stride, table.data() + r * head_dim, n_head, head_dim, pairing);
    }
  });
}

void silu_mul(ConstRows gate, ConstRows up, Rows y, std::uint32_t n_rows, std::uint32_t n, base::ThreadPool& pool) {
  pool.run(n_rows, rows_grain(n), [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t r = begin; r < end; ++r) {
      kRunning->silu_mul(gate.data + r * gate.stride, up.data + r * up.stride, y.data + r * y.stride, n);
    }
  });
}

void softmax(std::span<const float> x, std::span<float> y) {
  CHECK(!x.empty() && x.size() == y.size(), "rows of one length");
  kRunning->softmax(x.data(), y.data(), x.size());
}

float dot(std::span<const float> a, std::span<const float> b) {
  CHECK(a.size() == b.size(), "rows of one length");
  return kRunning->dot(a.data(), b.data(), a.size());
}

void axpy(float a, std::span<const float> x, std::span<float> y) {
  CHECK(x.size() == y.size(), "rows of one length");
  kRunning->axpy(a, x.data(), y.data(), x.size());
}

void add(ConstRows x, Rows y, std::uint32_t n_rows, std::uint32_t n, base::ThreadPool& pool) {
  pool.run(n_rows, rows_grain(n), [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t r = begin; r < end; ++r) {
      for (std::size_t i = 0; i < n; ++i) y.data[r * y.stride + i] += x.data[r * x.stride + i];
    }
  });
}

bool all_finite(std::span<const float> x) {
  std::uint32_t largest = 0;  // exponent bits, all ones for NaN and infinity
  for (const float value : x) {
    const std::uint32_t exponent = std::bit_cast<std::uint32_t>(value) & 0x7f800000U;
    largest = largest < exponent ? exponent : largest;
  }
  return largest != 0x7f800000U;
}

}  // namespace lookback::kernels
