#include "kernels/attention.h"

#include <cmath>
#include <limits>

#include "base/check.h"
#include "kernels/variants.h"

namespace lookback::kernels {

void attention(const AttentionArgs& args, Workspace& workspace, base::ThreadPool& pool) {
  const Workspace::Limits& limits = workspace.limits();
  CHECK(args.n_query > 0 && args.n_query <= kMaxTokens, "a block of queries");
  CHECK(args.n_head == limits.n_head && args.n_kv_head == limits.n_kv_head && args.head_dim == limits.head_dim,
        "the workspace's shape");
  const std::uint32_t n_keys = args.first_pos + args.n_query;
  CHECK(n_keys <= limits.max_positions, "positions within the workspace");
  const std::size_t n_pages = (n_keys + kPagePositions - 1) / kPagePositions;
  CHECK(args.k_pages.size() >= n_pages && args.v_pages.size() >= n_pages, "pages for every position");
  kRunning->attention(args, workspace, pool);
}

void attention_row(const AttentionRowArgs& args, std::span<float> qk, std::span<float> scaled, std::span<float> share) {
  CHECK(args.n_keys > 0 && scaled.size() == args.n_keys, "a row of scores");
  CHECK(qk.empty() || qk.size() == args.n_keys, "a row of products");
  CHECK(share.empty() || share.size() == args.n_keys, "a row of shares");
  const std::span<float> products = qk.empty() ? scaled : qk;
  kRunning->attention_scores(args, products.data());
  const float root = std::sqrt(static_cast<float>(args.head_dim));
  for (std::size_t j = 0; j < args.n_keys; ++j) scaled[j] = products[j] / root;
  for (const std::uint32_t key : args.cut_keys) {
    if (key < args.n_keys) scaled[key] = -std::numeric_limits<float>::infinity();
  }
  if (!share.empty()) kRunning->softmax(scaled.data(), share.data(), share.size());
}

}  // namespace lookback::kernels
