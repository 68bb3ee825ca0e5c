#include "model/attention_rows.h"

#include <algorithm>
#include <cmath>

#include "kernels/attention.h"

namespace lookback::model {

void AttentionRows::read(std::uint32_t layer, std::uint32_t head, std::uint32_t query, std::span<float> qk,
                         std::span<float> scaled, std::span<float> share) const {
  std::vector<std::uint32_t> cut_keys;
  for (const auto& link : pass_.switches.cut_links(layer)) {
    if (link.head == head && link.query == query) cut_keys.push_back(link.key);
  }
  const auto k_pages = pass_.cache.k_pages(layer);
  kernels::attention_row({.n_kv_head = config_.n_kv_head,
                          .kv_head = head / config_.group(),
                          .head_dim = config_.head_dim,
                          .n_keys = query + 1,
                          .q = pass_.cache.q(layer, head, query),
                          .k_pages = k_pages,
                          .cut_keys = cut_keys},
                         qk, scaled, share);
}

void AttentionRows::share(std::uint32_t layer, std::uint32_t head, std::uint32_t query, std::span<float> scaled,
                          std::span<float> share) const {
  read(layer, head, query, {}, scaled, share);
}

Result<AttentionRow> AttentionRows::row(std::uint32_t layer, std::uint32_t head, std::uint32_t query) const {
  AttentionRow row;
  for (auto* part : {&row.qk, &row.scaled, &row.share}) {
    auto array = Array<float>::create(query + 1, "an attention row");
    if (!array) return array.error();
    *part = std::move(*array);
  }
  read(layer, head, query, row.qk.span(), row.scaled.span(), row.share.span());
  return row;
}

Result<Array<float>> AttentionRows::look(std::uint32_t query) const {
  const std::size_t n_keys = std::size_t{query} + 1;
  const std::size_t n_rows = std::size_t{config_.n_layer} * config_.n_head;
  auto shares = Array<float>::create(n_rows * n_keys, "the shares of one query");
  if (!shares) return shares.error();
  pool_.run(n_rows, 1, [&](std::size_t begin, std::size_t end, int) {
    std::vector<float> scaled(n_keys);
    for (std::size_t i = begin; i < end; ++i) {
      share(static_cast<std::uint32_t>(i / config_.n_head), static_cast<std::uint32_t>(i % config_.n_head), query,
            scaled, shares->span().subspan(i * n_keys, n_keys));
    }
  });
  return shares;
}

Result<Array<float>> AttentionRows::looked_at_by(std::uint32_t key) const {
  const std::uint32_t length = pass_.length();
  const std::size_t n_rows = std::size_t{config_.n_layer} * config_.n_head;
  auto shares = Array<float>::create(n_rows * length, "the shares of one key");
  if (!shares) return shares.error();
  std::fill(shares->span().begin(), shares->span().end(), 0.0f);
  pool_.run(n_rows, 1, [&](std::size_t begin, std::size_t end, int) {
    std::vector<float> scaled(length);
    std::vector<float> row(length);
    for (std::size_t i = begin; i < end; ++i) {
      for (std::uint32_t query = key; query < length; ++query) {
        share(static_cast<std::uint32_t>(i / config_.n_head), static_cast<std::uint32_t>(i % config_.n_head), query,
              std::span(scaled).first(query + 1), std::span(row).first(query + 1));
        (*shares)[i * length + query] = row[key];
      }
    }
  });
  return shares;
}

Result<Array<float>> AttentionRows::pattern(std::uint32_t layer, std::uint32_t head) const {
  const std::size_t length = pass_.length();
  auto shares = Array<float>::create(length * length, "an attention pattern");
  if (!shares) return shares.error();
  pool_.run(length, 1, [&](std::size_t begin, std::size_t end, int) {
    std::vector<float> scaled(length);
    for (std::size_t query = begin; query < end; ++query) {
      const auto row = shares->span().subspan(query * length, length);
      share(layer, head, static_cast<std::uint32_t>(query), std::span(scaled).first(query + 1), row.first(query + 1));
      std::fill(row.begin() + static_cast<std::ptrdiff_t>(query) + 1, row.end(), 0.0f);
    }
  });
  return shares;
}

Result<Array<float>> AttentionRows::average() const {
  const std::size_t length = pass_.length();
  auto mean = Array<float>::create(length * length, "the mean attention pattern");
  if (!mean) return mean.error();
  const double scale = 1.0 / (static_cast<double>(config_.n_layer) * static_cast<double>(config_.n_head));
  pool_.run(length, 1, [&](std::size_t begin, std::size_t end, int) {
    std::vector<float> scaled(length);
    std::vector<float> row(length);
    std::vector<double> sum(length);
    for (std::size_t query = begin; query < end; ++query) {
      const std::size_t n_keys = query + 1;
      std::fill(sum.begin(), sum.end(), 0.0);
      for (std::uint32_t layer = 0; layer < config_.n_layer; ++layer) {
        for (std::uint32_t head = 0; head < config_.n_head; ++head) {
          share(layer, head, static_cast<std::uint32_t>(query), std::span(scaled).first(n_keys),
                std::span(row).first(n_keys));
          for (std::size_t key = 0; key < n_keys; ++key) sum[key] += static_cast<double>(row[key]);
        }
      }
      for (std::size_t key = 0; key < length; ++key)
        (*mean)[query * length + key] = static_cast<float>(sum[key] * scale);
    }
  });
  return mean;
}

Result<Array<float>> AttentionRows::products(std::uint32_t layer, std::uint32_t head, std::uint32_t query,
                                             std::uint32_t key) const {
  auto products = Array<float>::create(config_.head_dim, "the products of one score");
  if (!products) return products.error();
  const float* q = pass_.cache.q(layer, head, query);
  const float* k = pass_.cache.k(layer, head / config_.group(), key);
  const std::uint32_t half = config_.head_dim / 2;
  for (std::uint32_t pair = 0; pair < half; ++pair) {
    const bool neighbours = config_.rope_layout == RopeLayout::kNeighbours;
    const std::uint32_t first = neighbours ? 2 * pair : pair;
    const std::uint32_t second = neighbours ? 2 * pair + 1 : pair + half;
    (*products)[pair] = q[first] * k[first];
    (*products)[pair + half] = q[second] * k[second];
  }
  return products;
}

Result<Array<float>> AttentionRows::written(const Weights& weights, std::uint32_t layer, std::uint32_t head,
                                            std::uint32_t query) const {
  const std::size_t n_keys = std::size_t{query} + 1;
  const std::size_t head_dim = config_.head_dim;
  auto written = Array<float>::create(n_keys, "what one head wrote");
  if (!written) return written.error();
  // The head's columns of o_proj [n_embd, head_dim].
  std::vector<float> columns(config_.n_embd * head_dim);
  std::vector<float> whole_row(config_.n_q());
  for (std::uint32_t row = 0; row < config_.n_embd; ++row) {
    weights.layers[layer].o_proj.dequantize_row(row, whole_row);
    std::copy_n(whole_row.begin() + static_cast<std::ptrdiff_t>(head * head_dim), head_dim,
                columns.begin() + static_cast<std::ptrdiff_t>(row * head_dim));
  }
  std::vector<float> scaled(n_keys);
  share(layer, head, query, scaled, written->span());
  pool_.run(n_keys, 8, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t key = begin; key < end; ++key) {
      const float* v = pass_.cache.v(layer, head / config_.group(), static_cast<std::uint32_t>(key));
      double square = 0;
      for (std::uint32_t row = 0; row < config_.n_embd; ++row) {
        double sum = 0;
        for (std::size_t i = 0; i < head_dim; ++i) {
          sum += static_cast<double>(columns[row * head_dim + i]) * static_cast<double>(v[i]);
        }
        square += sum * sum;
      }
      (*written)[key] = static_cast<float>(static_cast<double>((*written)[key]) * std::sqrt(square));
    }
  });
  return written;
}

}  // namespace lookback::model
