// Every variant's attention against the formula in double: blocks of queries through every tile size, page borders, grouped
// heads, cut links; and rows read later against the shares that the pass used.
#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/variants.h"
#include "tests/kernels/random_weights.h"

namespace lookback::kernels {
namespace {

struct Shape {
  std::uint32_t n_head, n_kv_head, head_dim;
};

// Keys and values in pages; what no position has filled is NaN, so that reading it shows.
class Pages {
 public:
  Pages(RandomWeights& random, const Shape& shape, std::uint32_t n_positions, float scale) : shape_(shape) {
    const std::size_t page_floats = std::size_t{shape.n_kv_head} * kPagePositions * shape.head_dim;
    for (std::uint32_t first = 0; first < n_positions; first += kPagePositions) {
      std::vector<float> page(page_floats, std::numeric_limits<float>::quiet_NaN());
      for (std::uint32_t kv_head = 0; kv_head < shape.n_kv_head; ++kv_head) {
        for (std::uint32_t p = 0; p < std::min(kPagePositions, n_positions - first); ++p) {
          for (std::uint32_t d = 0; d < shape.head_dim; ++d) {
            page[(std::size_t{kv_head} * kPagePositions + p) * shape.head_dim + d] = random.normal(scale);
          }
        }
      }
      pages_.push_back(std::move(page));
      bases_.push_back(pages_.back().data());
    }
  }
  std::span<const float* const> bases() const { return bases_; }
  const float* at(std::uint32_t kv_head, std::uint32_t pos) const {
    return bases_[pos / kPagePositions] +
           (std::size_t{kv_head} * kPagePositions + pos % kPagePositions) * shape_.head_dim;
  }

 private:
  Shape shape_;
  std::vector<std::vector<float>> pages_;
  std::vector<const float*> bases_;
};

Workspace make_workspace(const Shape& shape, std::uint32_t n_positions, int n_threads) {
  Result<Workspace> workspace = Workspace::create({.max_cols = 8,
                                                   .n_head = shape.n_head,
                                                   .n_kv_head = shape.n_kv_head,
                                                   .head_dim = shape.head_dim,
                                                   .max_positions = n_positions},
                                                  n_threads);
  EXPECT_TRUE(workspace);
  return std::move(*workspace);
}

// Shares of one row in double.
std::vector<double> shares(const float* q, const Pages& keys, std::uint32_t kv_head, std::uint32_t head_dim,
                           std::uint32_t n_keys, std::span<const std::uint32_t> cut_keys) {
  std::vector<double> share(n_keys);
  double top = -std::numeric_limits<double>::infinity();
  for (std::uint32_t j = 0; j < n_keys; ++j) {
    for (std::uint32_t d = 0; d < head_dim; ++d)
      share[j] += static_cast<double>(q[d]) * static_cast<double>(keys.at(kv_head, j)[d]);
    share[j] /= std::sqrt(static_cast<double>(head_dim));
  }
  for (const std::uint32_t key : cut_keys) share[key] = -std::numeric_limits<double>::infinity();
  for (const double s : share) top = std::max(top, s);
  double sum = 0;
  for (double& s : share) sum += s = std::exp(s - top);
  for (double& s : share) s /= sum;
  return share;
}

class AttentionOfVariant : public testing::TestWithParam<const KernelTable*> {
 protected:
  // q of about 2 makes peaked rows, where the largest score rules.
  void expect_close(const Shape& shape, std::uint32_t first_pos, std::uint32_t n_query, std::vector<CutLink> cuts = {},
                    float q_scale = 2) {
    const std::uint32_t seed = first_pos * 7919 + n_query * 31 + shape.n_head;
    SCOPED_TRACE(std::string(GetParam()->name) + " heads " + std::to_string(shape.n_head) + "/" +
                 std::to_string(shape.n_kv_head) + " x " + std::to_string(shape.head_dim) + " queries " +
                 std::to_string(first_pos) + "+" + std::to_string(n_query) + " seed " + std::to_string(seed));
    RandomWeights random(seed);
    const std::uint32_t n_positions = first_pos + n_query;
    const Pages k(random, shape, n_positions, 1);
    const Pages v(random, shape, n_positions, 1);
    const std::size_t width = std::size_t{shape.n_head} * shape.head_dim;
    const std::size_t q_stride = width + 3;
    const std::size_t out_stride = width + 1;
    std::vector<float> q(n_query * q_stride + 1);
    for (float& value : q) value = random.normal(q_scale);
    std::vector<float> out(n_query * out_stride + 1, 7.0F);
    Workspace workspace = make_workspace(shape, n_positions, 1);
    base::ThreadPool pool(1);
    GetParam()->attention({.n_head = shape.n_head,
                           .n_kv_head = shape.n_kv_head,
                           .head_dim = shape.head_dim,
                           .first_pos = first_pos,
                           .n_query = n_query,
                           .q = q.data() + 1,
                           .q_stride = q_stride,
                           .k_pages = k.bases(),
                           .v_pages = v.bases(),
                           .cuts = cuts,
                           .out = out.data() + 1,
                           .out_stride = out_stride},
                          workspace, pool);
    const std::uint32_t group = shape.n_head / shape.n_kv_head;
    for (std::uint32_t i = 0; i < n_query; ++i) {
      for (std::uint32_t h = 0; h < shape.n_head; ++h) {
        const float* row_q = q.data() + 1 + i * q_stride + std::size_t{h} * shape.head_dim;
        std::vector<std::uint32_t> cut_keys;
        for (const CutLink& cut : cuts) {
          if (cut.head == h && cut.query == first_pos + i) cut_keys.push_back(cut.key);
        }
        const std::vector<double> share = shares(row_q, k, h / group, shape.head_dim, first_pos + i + 1, cut_keys);
        for (std::uint32_t d = 0; d < shape.head_dim; ++d) {
          double expected = 0;
          for (std::uint32_t j = 0; j < share.size(); ++j)
            expected += share[j] * static_cast<double>(v.at(h / group, j)[d]);
          // Scores of about 20 in f32 move a share by 20 · 2^-24 of itself, a handful of times.
          ASSERT_NEAR(static_cast<double>(out[1 + i * out_stride + std::size_t{h} * shape.head_dim + d]), expected,
                      1e-5)
              << "query " << i << " head " << h << " dim " << d;
        }
        read_row({.n_kv_head = shape.n_kv_head,
                  .kv_head = h / group,
                  .head_dim = shape.head_dim,
                  .n_keys = first_pos + i + 1,
                  .q = row_q,
                  .k_pages = k.bases(),
                  .cut_keys = cut_keys},
                 share);
      }
    }
    for (std::uint32_t i = 0; i < n_query; ++i) EXPECT_EQ(out[i * out_stride], 7.0F) << "outside of out";
  }

  // Scores of the row as inspection reads them.
  void read_row(const AttentionRowArgs& row, const std::vector<double>& share) {
    std::vector<float> qk(row.n_keys);
    GetParam()->attention_scores(row, qk.data());
    std::vector<float> products(row.n_keys), scaled(row.n_keys), shown(row.n_keys);
    attention_row(row, products, scaled, shown);
    for (std::uint32_t j = 0; j < row.n_keys; ++j) {
      ASSERT_NEAR(products[j], qk[j], 1e-4F) << j;
      ASSERT_NEAR(static_cast<double>(shown[j]), share[j], 1e-5) << j;
    }
    for (const std::uint32_t key : row.cut_keys) {
      EXPECT_EQ(scaled[key], -std::numeric_limits<float>::infinity());
      EXPECT_EQ(shown[key], 0.0F);
    }
  }
};

constexpr Shape kShipped = {9, 3, 64};

TEST_P(AttentionOfVariant, EveryBlockLength) {
  for (std::uint32_t n_query = 1; n_query <= 20; ++n_query) expect_close(kShipped, 0, n_query);
  expect_close(kShipped, 0, 66);
  expect_close(kShipped, 0, kMaxTokens);
}

TEST_P(AttentionOfVariant, EveryPlaceInAPage) {
  for (const std::uint32_t n_query : {1U, 2U, 3U, 9U}) {
    for (const std::uint32_t first_pos : {1U, 3U, 7U, 8U, 61U, 62U, 63U, 64U, 65U, 127U, 191U})
      expect_close(kShipped, first_pos, n_query);
  }
}

TEST_P(AttentionOfVariant, OtherShapes) {
  for (const Shape& shape :
       {Shape{4, 2, 16}, Shape{1, 1, 8}, Shape{8, 1, 24}, Shape{7, 7, 40}, Shape{2, 1, kMaxHeadDim}}) {
    for (const std::uint32_t n_query : {1U, 2U, 5U, 17U}) expect_close(shape, 60, n_query);
  }
}

TEST_P(AttentionOfVariant, CutLinks) {
  for (const std::uint32_t n_query : {1U, 2U, 6U}) {
    const std::uint32_t last = 130 + n_query - 1;
    // One link, the largest part of a row, and a whole page of it.
    std::vector<CutLink> cuts = {{4, last, 3}, {0, last, last}, {8, 130, 129}};
    for (std::uint32_t key = 0; key < 130; ++key) cuts.push_back({7, last, key});
    for (std::uint32_t key = 64; key < last; ++key) cuts.push_back({5, last, key});
    expect_close(kShipped, 130, n_query, cuts);
  }
}

TEST_P(AttentionOfVariant, ScoresFarBeyondTheRangeOfExp) {
  for (const std::uint32_t n_query : {1U, 12U}) expect_close(kShipped, 70, n_query, {}, 0);
  RandomWeights random(3);
  const Pages k(random, kShipped, 80, 30);
  const Pages v(random, kShipped, 80, 1);
  std::vector<float> q(576 * 4);
  for (float& value : q) value = random.normal(30);
  std::vector<float> out(q.size());
  Workspace workspace = make_workspace(kShipped, 80, 1);
  base::ThreadPool pool(1);
  for (const std::uint32_t n_query : {1U, 4U}) {
    GetParam()->attention({9, 3, 64, 80 - n_query, n_query, q.data(), 576, k.bases(), v.bases(), {}, out.data(), 576},
                          workspace, pool);
    for (std::uint32_t h = 0; h < 9; ++h) {
      // Scores lie hundreds apart: a row is one value.
      const std::vector<double> share = shares(q.data() + h * 64, k, h / 3, 64, 80 - n_query + 1, {});
      const auto top = static_cast<std::uint32_t>(std::max_element(share.begin(), share.end()) - share.begin());
      if (share[top] < 0.9999999) continue;
      for (std::uint32_t d = 0; d < 64; ++d) EXPECT_NEAR(out[h * 64 + d], v.at(h / 3, top)[d], 1e-5F);
    }
  }
}

TEST_P(AttentionOfVariant, ThreadsAndPassesGiveTheSameBits) {
  RandomWeights random(4);
  const Pages k(random, kShipped, 300, 1);
  const Pages v(random, kShipped, 300, 1);
  for (const std::uint32_t n_query : {1U, 2U, 40U}) {
    std::vector<float> q(576 * n_query);
    for (float& value : q) value = random.normal(1);
    std::vector<float> first;
    for (int n_threads = 1; n_threads <= 3; ++n_threads) {
      Workspace workspace = make_workspace(kShipped, 300, n_threads);
      base::ThreadPool pool(n_threads);
      std::vector<float> out(q.size());
      GetParam()->attention(
          {9, 3, 64, 300 - n_query, n_query, q.data(), 576, k.bases(), v.bases(), {}, out.data(), 576}, workspace,
          pool);
      if (first.empty()) first = out;
      EXPECT_EQ(out, first) << n_threads << " threads";
    }
  }
}

TEST_P(AttentionOfVariant, PassesOnNaN) {
  RandomWeights random(4);
  const Pages k(random, kShipped, 70, 1);
  const Pages v(random, kShipped, 70, 1);
  for (const std::uint32_t n_query : {1U, 4U}) {
    std::vector<float> q(576 * n_query, 0.5F);
    q[3 * 64] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> out(q.size());
    Workspace workspace = make_workspace(kShipped, 70, 1);
    base::ThreadPool pool(1);
    GetParam()->attention({9, 3, 64, 70 - n_query, n_query, q.data(), 576, k.bases(), v.bases(), {}, out.data(), 576},
                          workspace, pool);
    EXPECT_TRUE(std::isnan(out[3 * 64]));
    EXPECT_TRUE(std::isfinite(out[4 * 64]));
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, AttentionOfVariant, testing::ValuesIn(kVariants),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace lookback::kernels
