#include "model/run_again.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "model/distribution.h"

namespace lookback::model {
namespace {

// Rows of lm_head that one thread adds up before the partial sums meet; fixed, so the sum is too.
constexpr std::uint32_t kMeanRows = 1024;
// Streams whose logits are taken at once: lm_head is read once for them, and their logits are 1.5 MB.
constexpr std::uint32_t kLensRows = 8;

double dot(std::span<const double> a, const float* b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * static_cast<double>(b[i]);
  return sum;
}

}  // namespace

Result<Trace> run_again(Forward& forward, const KeptPass& pass, std::uint32_t pos) {
  const ModelConfig& config = forward.config();
  auto trace = Trace::create(config);
  if (!trace) return trace.error();
  // A read-only fork: kRead writes nothing, and a block names its caches as what it may write.
  KvCache cache = pass.cache.fork(pass.cache.length());
  KvCache* const sequence = &cache;
  const Block block{.sequences = {&sequence, 1},
                    .first_pos = pos,
                    .n_pos = 1,
                    .switches = &pass.switches,
                    .cache = Block::Cache::kRead};
  std::vector<float> resid(config.n_embd);
  forward.embed({&pass.ids[pos], 1}, resid.data());
  std::copy(resid.begin(), resid.end(), trace->resid_post);
  for (std::uint32_t layer = 0; layer < config.n_layer; ++layer) {
    LOOKBACK_TRY(forward.layer(layer, block, resid.data(), &*trace));
  }
  return trace;
}

Result<TopTokens> lens(Forward& forward, const KeptPass& pass, std::uint32_t pos, std::uint32_t k) {
  const ModelConfig& config = forward.config();
  const std::size_t n_streams = std::size_t{config.n_layer} + 1;
  auto ids = Array<TokenId>::create(n_streams * k, "the lens");
  auto logits = Array<float>::create(n_streams * k, "the lens");
  auto probabilities = Array<float>::create(n_streams * k, "the lens");
  auto rows = Array<float>::create(std::size_t{kLensRows} * config.n_vocab, "rows of logits");
  if (!ids) return ids.error();
  if (!logits) return logits.error();
  if (!probabilities) return probabilities.error();
  if (!rows) return rows.error();
  auto trace = run_again(forward, pass, pos);
  if (!trace) return trace.error();
  for (std::size_t first = 0; first < n_streams; first += kLensRows) {
    const std::size_t n = std::min<std::size_t>(kLensRows, n_streams - first);
    LOOKBACK_TRY(forward.logits(trace->resid_post + first * config.n_embd, config.n_embd, static_cast<std::uint32_t>(n),
                                rows->span().data()));
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t to = (first + i) * k;
      top_tokens(rows->span().subspan(i * config.n_vocab, config.n_vocab), ids->span().subspan(to, k),
                 logits->span().subspan(to, k), probabilities->span().subspan(to, k));
    }
  }
  return TopTokens{std::move(*ids), std::move(*logits), std::move(*probabilities)};
}

std::vector<double> mean_head_row(const Weights& weights, base::ThreadPool& pool) {
  const auto& head = weights.lm_head();
  const std::size_t n_parts = (head.rows() + kMeanRows - 1) / kMeanRows;
  std::vector<double> partial(n_parts * head.cols());
  pool.run(n_parts, 1, [&](std::size_t begin, std::size_t end, int) {
    std::vector<float> row(head.cols());
    for (std::size_t part = begin; part < end; ++part) {
      const auto first = static_cast<std::uint32_t>(part) * kMeanRows;
      for (std::uint32_t r = first; r < std::min(head.rows(), first + kMeanRows); ++r) {
        head.dequantize_row(r, row);
        for (std::size_t i = 0; i < row.size(); ++i) partial[part * row.size() + i] += static_cast<double>(row[i]);
      }
    }
  });
  std::vector<double> mean(head.cols());
  for (std::size_t part = 0; part < n_parts; ++part) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += partial[part * mean.size() + i];
  }
  for (double& value : mean) value /= head.rows();
  return mean;
}

Result<Attribution> attribution(Forward& forward, const KeptPass& pass, TokenId token, std::uint32_t pos,
                                std::span<const double> baseline) {
  const ModelConfig& config = forward.config();
  const Weights& weights = forward.weights();
  const std::size_t n_embd = config.n_embd;
  auto heads = Array<float>::create(std::size_t{config.n_layer} * config.n_head, "an attribution");
  auto mlps = Array<float>::create(config.n_layer, "an attribution");
  if (!heads) return heads.error();
  if (!mlps) return mlps.error();
  auto trace = run_again(forward, pass, pos);
  if (!trace) return trace.error();

  // direction = s · final_norm · (lm_head[token] - baseline): a part's term is its product with this.
  const float* stream = trace->resid_post + std::size_t{config.n_layer} * n_embd;
  double mean_square = 0;
  for (std::size_t i = 0; i < n_embd; ++i)
    mean_square += static_cast<double>(stream[i]) * static_cast<double>(stream[i]);
  mean_square /= static_cast<double>(n_embd);
  const double scale = 1.0 / std::sqrt(mean_square + static_cast<double>(config.rms_eps));
  std::vector<float> head_row(n_embd);
  weights.lm_head().dequantize_row(static_cast<std::uint32_t>(token), head_row);
  std::vector<double> direction(n_embd);
  for (std::size_t i = 0; i < n_embd; ++i) {
    const double row = static_cast<double>(head_row[i]) - (baseline.empty() ? 0.0 : baseline[i]);
    direction[i] = scale * static_cast<double>(weights.final_norm[i]) * row;
  }

  Attribution result;
  result.embedding = static_cast<float>(dot(direction, trace->resid_post));
  forward.pool().run(config.n_layer, 1, [&](std::size_t begin, std::size_t end, int) {
    std::vector<float> o_row(config.n_q());
    std::vector<double> per_slot(config.n_q());  // o_projᵀ · direction
    for (std::size_t layer = begin; layer < end; ++layer) {
      std::fill(per_slot.begin(), per_slot.end(), 0.0);
      for (std::uint32_t i = 0; i < config.n_embd; ++i) {
        weights.layers[layer].o_proj.dequantize_row(i, o_row);
        for (std::size_t slot = 0; slot < o_row.size(); ++slot) {
          per_slot[slot] += direction[i] * static_cast<double>(o_row[slot]);
        }
      }
      const float* attn_out = trace->attn_out + layer * config.n_q();
      for (std::uint32_t head = 0; head < config.n_head; ++head) {
        const std::size_t first = std::size_t{head} * config.head_dim;
        (*heads)[layer * config.n_head + head] =
            static_cast<float>(dot(std::span(per_slot).subspan(first, config.head_dim), attn_out + first));
      }
      // What the MLP added is the stream after it less the stream before it.
      const float* before = trace->resid_mid + layer * n_embd;
      const float* after = trace->resid_post + (layer + 1) * n_embd;
      double term = 0;
      for (std::size_t i = 0; i < n_embd; ++i) {
        term += direction[i] * (static_cast<double>(after[i]) - static_cast<double>(before[i]));
      }
      (*mlps)[layer] = static_cast<float>(term);
    }
  });
  result.logit = static_cast<float>(dot(direction, stream));
  result.heads = std::move(*heads);
  result.mlps = std::move(*mlps);
  return result;
}

}  // namespace lookback::model
