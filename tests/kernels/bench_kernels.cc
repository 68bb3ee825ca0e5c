// bench_kernels: the kernels' share of a pass over random weights of SmolLM2-135M's shapes and types, by op, for one
// thread and two. A tool for tuning kernels: it knows nothing of models, and scripts/bench measures the real thing.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/attention.h"
#include "kernels/matmul.h"
#include "kernels/ops.h"
#include "kernels/profile.h"
#include "tests/kernels/random_weights.h"

namespace lookback::kernels {
namespace {

constexpr std::uint32_t kLayers = 30;
constexpr std::uint32_t kEmbd = 576;
constexpr std::uint32_t kKv = 192;
constexpr std::uint32_t kFf = 1536;
constexpr std::uint32_t kVocab = 49152;
constexpr std::uint32_t kMaxPositions = 2304;

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

PackedMatrix make_matrix(quant::DType dtype, std::uint32_t rows, std::uint32_t cols) {
  static RandomWeights random(1);
  const std::vector<std::byte> row = random.row(dtype, cols, 0.002F);
  PackedMatrix matrix = std::move(*PackedMatrix::create(dtype, rows, cols, "w"));
  for (std::uint32_t r = 0; r < rows; ++r) {
    if (!matrix.append_rows(row, 1)) std::abort();
  }
  return matrix;
}

struct Layer {
  PackedMatrix q = make_matrix(quant::DType::kQ4_1, kEmbd, kEmbd);
  PackedMatrix k = make_matrix(quant::DType::kQ4_1, kKv, kEmbd);
  PackedMatrix v = make_matrix(quant::DType::kQ4_1, kKv, kEmbd);
  PackedMatrix o = make_matrix(quant::DType::kQ4_1, kEmbd, kEmbd);
  PackedMatrix gate = make_matrix(quant::DType::kQ4_1, kFf, kEmbd);
  PackedMatrix up = make_matrix(quant::DType::kQ4_1, kFf, kEmbd);
  PackedMatrix down = make_matrix(quant::DType::kQ4_1, kEmbd, kFf);
};

class Skeleton {
 public:
  Skeleton() : layers_(kLayers), head_(make_matrix(quant::DType::kQ8_0, kVocab, kEmbd)) {
    keys_.assign(std::size_t{kLayers} * kMaxPositions * kKv, 0.01F);
    values_.assign(keys_.size(), 0.01F);
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      for (std::uint32_t page = 0; page * kPagePositions < kMaxPositions; ++page) {
        const std::size_t at = (std::size_t{layer} * kMaxPositions + page * kPagePositions) * kKv;
        k_pages_[layer].push_back(&keys_[at]);
        v_pages_[layer].push_back(&values_[at]);
      }
    }
  }

  void pass(std::uint32_t first_pos, std::uint32_t n_tokens, Precision precision, Workspace& workspace,
            base::ThreadPool& pool, Profile* profile) {
    const std::vector<float> norm(kEmbd, 1.0F);
    std::vector<float> table(std::size_t{n_tokens} * 64);
    rope_table(100000, 64, first_pos, n_tokens, table);
    std::fill(x_.begin(), x_.end(), 0.3F);
    for (std::uint32_t l = 0; l < kLayers; ++l) {
      const Layer& layer = layers_[l];
      const MatmulInput input{h_.data(), kEmbd, n_tokens};
      {
        const ProfileScope scope(profile, Op::kNorm);
        rms_norm({x_.data(), kEmbd}, norm, 1e-5F, {h_.data(), kEmbd}, n_tokens, pool);
      }
      {
        const ProfileScope scope(profile, Op::kQkv);
        matmul(input,
               std::array{Product{&layer.q, q_.data(), kEmbd}, Product{&layer.k, k_.data(), kKv},
                          Product{&layer.v, v_.data(), kKv}},
               precision, workspace, pool);
      }
      {
        const ProfileScope scope(profile, Op::kRope);
        rope({q_.data(), kEmbd}, n_tokens, 9, 64, table, RopePairing::kNeighbours, pool);
        rope({k_.data(), kKv}, n_tokens, 3, 64, table, RopePairing::kNeighbours, pool);
      }
      {
        const ProfileScope scope(profile, Op::kAttention);
        attention({9, 3, 64, first_pos, n_tokens, q_.data(), kEmbd, k_pages_[l], v_pages_[l], {}, a_.data(), kEmbd},
                  workspace, pool);
      }
      {
        const ProfileScope scope(profile, Op::kOutProj);
        matmul({a_.data(), kEmbd, n_tokens}, std::array{Product{&layer.o, x_.data(), kEmbd, Write::kAdd}}, precision,
               workspace, pool);
      }
      {
        const ProfileScope scope(profile, Op::kNorm);
        rms_norm({x_.data(), kEmbd}, norm, 1e-5F, {h_.data(), kEmbd}, n_tokens, pool);
      }
      {
        const ProfileScope scope(profile, Op::kGateUp);
        matmul(input, std::array{Product{&layer.gate, gate_.data(), kFf}, Product{&layer.up, up_.data(), kFf}},
               precision, workspace, pool);
      }
      {
        const ProfileScope scope(profile, Op::kSilu);
        silu_mul({gate_.data(), kFf}, {up_.data(), kFf}, {gate_.data(), kFf}, n_tokens, kFf, pool);
      }
      {
        const ProfileScope scope(profile, Op::kDown);
        matmul({gate_.data(), kFf, n_tokens}, std::array{Product{&layer.down, x_.data(), kEmbd, Write::kAdd}},
               precision, workspace, pool);
      }
    }
    const ProfileScope scope(profile, Op::kLogits);
    rms_norm({x_.data(), kEmbd}, norm, 1e-5F, {h_.data(), kEmbd}, 1, pool);
    matmul({h_.data(), kEmbd, 1}, std::array{Product{&head_, logits_.data(), kVocab}}, precision, workspace, pool);
  }

 private:
  std::vector<Layer> layers_;
  PackedMatrix head_;
  std::vector<float> keys_, values_;
  std::array<std::vector<const float*>, kLayers> k_pages_, v_pages_;
  std::vector<float> x_ = std::vector<float>(kMaxTokens * kEmbd), h_ = x_, q_ = x_, a_ = x_;
  std::vector<float> k_ = std::vector<float>(kMaxTokens * kKv), v_ = k_;
  std::vector<float> gate_ = std::vector<float>(kMaxTokens * kFf), up_ = gate_;
  std::vector<float> logits_ = std::vector<float>(kVocab);
};

void measure(Skeleton& skeleton, std::uint32_t first_pos, std::uint32_t n_tokens, Precision precision, int n_threads,
             double seconds) {
  base::ThreadPool pool(n_threads);
  Workspace workspace = std::move(*Workspace::create(
      {.max_cols = kFf, .n_head = 9, .n_kv_head = 3, .head_dim = 64, .max_positions = kMaxPositions}, n_threads));
  std::vector<double> times;
  Profile best{.now_ms = now_ms};
  const double end = now_ms() + seconds * 1e3;
  while (now_ms() < end || times.size() < 3) {
    Profile profile{.now_ms = now_ms};
    const double start = now_ms();
    skeleton.pass(first_pos, n_tokens, precision, workspace, pool, &profile);
    times.push_back(now_ms() - start);
    // Each op's shortest time, since a busy machine falls on other ops in other passes.
    for (std::size_t op = 0; op < kOpCount; ++op) {
      best.ms[op] = times.size() == 1 ? profile.ms[op] : std::min(best.ms[op], profile.ms[op]);
    }
    best.calls = profile.calls;
  }
  std::sort(times.begin(), times.end());
  std::printf("%-8s %s %d thr  pos %4u + %3u  median %8.2f ms %7.1f tok/s  best %7.1f tok/s |",
              std::string(variant_name()).c_str(), precision == Precision::kExact ? "exact" : "fast ", pool.n_threads(),
              first_pos, n_tokens, times[times.size() / 2], n_tokens * 1e3 / times[times.size() / 2],
              n_tokens * 1e3 / times[0]);
  for (std::size_t op = 0; op < kOpCount; ++op) {
    if (best.calls[op] > 0) std::printf(" %s %.2f", kOpNames[op], best.ms[op]);
  }
  std::printf("\n");
}

}  // namespace
}  // namespace lookback::kernels

// With arguments, only what they name: seconds a line, then exact or fast, threads, first position, tokens.
int main(int argc, char** argv) {
  using lookback::kernels::Precision;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  const std::string only_precision = argc > 2 ? argv[2] : "";
  const int only_threads = argc > 3 ? std::atoi(argv[3]) : 0;
  const int only_pos = argc > 4 ? std::atoi(argv[4]) : -1;
  const int only_tokens = argc > 5 ? std::atoi(argv[5]) : 0;
  constexpr std::array<std::array<int, 2>, 6> kCases = {
      {{128, 1}, {2048, 1}, {0, 14}, {0, 128}, {384, 128}, {1920, 128}}};
  lookback::kernels::Skeleton skeleton;
  for (const int n_threads : {1, 2}) {
    for (const Precision precision : {Precision::kExact, Precision::kFast}) {
      for (const auto& [first_pos, n_tokens] : kCases) {
        if (only_threads > 0 && only_threads != n_threads) continue;
        if (!only_precision.empty() && only_precision != (precision == Precision::kExact ? "exact" : "fast")) continue;
        if (only_pos >= 0 && only_pos != first_pos) continue;
        if (only_tokens > 0 && only_tokens != n_tokens) continue;
        lookback::kernels::measure(skeleton, static_cast<std::uint32_t>(first_pos),
                                   static_cast<std::uint32_t>(n_tokens), precision, n_threads, seconds);
      }
    }
  }
}
