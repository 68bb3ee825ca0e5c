// The reference variant: every op as its formula reads, sums in double. Slow, and what the others are held against.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/variants.h"

namespace lookback::kernels {
namespace reference {
namespace {

void matmul(const MatmulInput& input, std::span<const Product> products, Precision /*precision*/,
            Workspace& /*workspace*/, base::ThreadPool& /*pool*/) {
  for (const Product& product : products) {
    const PackedMatrix& weights = *product.weights;
    std::vector<float> w(weights.cols());
    for (std::uint32_t r = 0; r < weights.rows(); ++r) {
      weights.dequantize_row(r, w);
      for (std::uint32_t t = 0; t < input.n_tokens; ++t) {
        const float* x = input.x + t * input.x_stride;
        double sum = 0;
        for (std::size_t c = 0; c < w.size(); ++c) sum += double{w[c]} * double{x[c]};
        float& y = product.y[t * product.y_stride + r];
        y = static_cast<float>(product.write == Write::kAdd ? double{y} + sum : sum);
      }
    }
  }
}

const float* position(std::span<const float* const> pages, std::uint32_t kv_head, std::uint32_t head_dim,
                      std::uint32_t pos) {
  return pages[pos / kPagePositions] + (std::size_t{kv_head} * kPagePositions + pos % kPagePositions) * head_dim;
}

double dot_double(const float* a, const float* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

void attention(const AttentionArgs& args, Workspace& /*workspace*/, base::ThreadPool& /*pool*/) {
  const std::uint32_t group = args.n_head / args.n_kv_head;
  std::vector<double> share;
  for (std::uint32_t i = 0; i < args.n_query; ++i) {
    const std::uint32_t n_keys = args.first_pos + i + 1;
    for (std::uint32_t h = 0; h < args.n_head; ++h) {
      const float* q = args.q + i * args.q_stride + std::size_t{h} * args.head_dim;
      float* out = args.out + i * args.out_stride + std::size_t{h} * args.head_dim;
      share.assign(n_keys, 0);
      for (std::uint32_t j = 0; j < n_keys; ++j) {
        share[j] = dot_double(q, position(args.k_pages, h / group, args.head_dim, j), args.head_dim) /
                   std::sqrt(static_cast<double>(args.head_dim));
      }
      for (const CutLink& cut : args.cuts) {
        if (cut.head == h && cut.query + 1 == n_keys && cut.key < n_keys) {
          share[cut.key] = -std::numeric_limits<double>::infinity();
        }
      }
      const double top = *std::max_element(share.begin(), share.end());
      double sum = 0;
      for (double& s : share) sum += s = std::exp(s - top);
      for (std::uint32_t d = 0; d < args.head_dim; ++d) {
        double value = 0;
        for (std::uint32_t j = 0; j < n_keys; ++j) {
          value += share[j] * double{position(args.v_pages, h / group, args.head_dim, j)[d]};
        }
        out[d] = static_cast<float>(value / sum);
      }
    }
  }
}

void attention_scores(const AttentionRowArgs& args, float* qk) {
  for (std::uint32_t j = 0; j < args.n_keys; ++j) {
    qk[j] =
        static_cast<float>(dot_double(args.q, position(args.k_pages, args.kv_head, args.head_dim, j), args.head_dim));
  }
}

void rms_norm(const float* x, const float* w, float eps, float* y, std::size_t n) {
  const double scale = 1 / std::sqrt(dot_double(x, x, n) / static_cast<double>(n) + double{eps});
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<float>(double{w[i]} * (double{x[i]} * scale));
}

void rope(float* x, const float* table, std::uint32_t n_head, std::uint32_t head_dim, RopePairing pairing) {
  const std::size_t half = head_dim / 2;
  const bool halves = pairing == RopePairing::kHalves;
  for (std::uint32_t h = 0; h < n_head; ++h, x += head_dim) {
    for (std::size_t i = 0; i < half; ++i) {
      float& a = x[halves ? i : 2 * i];
      float& b = x[halves ? i + half : 2 * i + 1];
      const double cos = double{table[2 * i]};
      const double sin = double{table[2 * i + 1]};
      const double rotated = double{a} * cos - double{b} * sin;
      b = static_cast<float>(double{b} * cos + double{a} * sin);
      a = static_cast<float>(rotated);
    }
  }
}

void silu_mul(const float* gate, const float* up, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = static_cast<float>(double{gate[i]} / (1 + std::exp(-double{gate[i]})) * double{up[i]});
  }
}

void softmax(const float* x, float* y, std::size_t n) {
  const double top = double{*std::max_element(x, x + n)};
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += std::exp(double{x[i]} - top);
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<float>(std::exp(double{x[i]} - top) / sum);
}

float dot(const float* a, const float* b, std::size_t n) { return static_cast<float>(dot_double(a, b, n)); }

void axpy(float a, const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<float>(double{y[i]} + double{a} * double{x[i]});
}

}  // namespace
}  // namespace reference

const KernelTable kReference = {
    .name = "reference",
    .matmul = reference::matmul,
    .attention = reference::attention,
    .attention_scores = reference::attention_scores,
    .rms_norm = reference::rms_norm,
    .rope = reference::rope,
    .silu_mul = reference::silu_mul,
    .softmax = reference::softmax,
    .dot = reference::dot,
    .axpy = reference::axpy,
};

}  // namespace lookback::kernels
