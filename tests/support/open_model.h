// Opening a model and running a pass through include/lookback/engine.h, as the worker does.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lookback/engine.h"
#include "tests/support/test_files.h"

namespace lookback::test {

/// The weights that the golden numbers belong to. `scripts/fetch-weights` puts them there; without them tests fail.
inline const char* const kRealWeights = "models/SmolLM2-135M-Instruct.Q4_1.gguf";

inline constexpr std::size_t kPieceBytes = 1 << 20;

/// Feeds one file in pieces. Returns the external files that it still wants.
inline Result<std::vector<std::string>> feed_bytes(Engine& engine, const std::string& name,
                                                   std::span<const std::byte> bytes, std::size_t piece = kPieceBytes) {
  LOOKBACK_TRY(engine.begin_file({.name = name, .n_bytes = bytes.size()}));
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::size_t n = std::min(piece, bytes.size() - at);
    auto room = engine.chunk(n);
    LOOKBACK_TRY(room);
    std::memcpy(room->data(), bytes.data() + at, n);
    LOOKBACK_TRY(engine.commit(n));
  }
  return engine.end_file();
}

struct OpenModel {
  std::unique_ptr<Engine> engine;
  ModelInfo info;
};

/// bytes of a model file, with config.json where the format needs one.
inline Result<OpenModel> open_bytes(const std::string& name, std::span<const std::byte> bytes,
                                    const std::optional<std::string>& config = {}, const EngineOptions& options = {}) {
  auto engine = Engine::create(options);
  if (!engine) return engine.error();
  if (config) LOOKBACK_TRY((*engine)->set_config(*config));
  auto external = feed_bytes(**engine, name, bytes);
  LOOKBACK_TRY(external);
  auto info = (*engine)->open();
  LOOKBACK_TRY(info);
  return OpenModel{std::move(*engine), std::move(*info)};
}

/// A file of tests/data or models; the test stops where it is not.
inline OpenModel open_model(const std::string& path, const std::optional<std::string>& config_path = {},
                            const EngineOptions& options = {}) {
  const auto bytes = read_bytes(path);
  std::optional<std::string> config;
  if (config_path) config = read_text(*config_path);
  auto model = open_bytes(path, bytes, config, options);
  if (!model) {
    ADD_FAILURE() << path << ": " << error_code_name(model.error().code) << ": " << model.error().message;
    std::abort();
  }
  return std::move(*model);
}

inline Result<void> run(Pass& pass, std::span<const TokenId> ids) {
  LOOKBACK_TRY(pass.begin(ids));
  for (;;) {
    auto status = pass.step();
    LOOKBACK_TRY(status);
    if (status->done) return {};
  }
}

/// The value of a Result that must have one.
template <typename T>
T must(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << error_code_name(result.error().code) << ": " << result.error().message;
    std::abort();
  }
  return std::move(*result);
}
inline void must(Result<void> result) {
  if (result) return;
  ADD_FAILURE() << error_code_name(result.error().code) << ": " << result.error().message;
  std::abort();
}

/// A finished pass.
inline std::unique_ptr<Pass> run_pass(Engine& engine, std::span<const TokenId> ids, const PassOptions& options = {}) {
  auto pass = must(engine.create_pass(options));
  must(run(*pass, ids));
  return pass;
}

inline std::vector<TokenId> ids_of(const nlohmann::json& json) {
  std::vector<TokenId> ids;
  for (const auto& id : json) ids.push_back(id.get<TokenId>());
  return ids;
}

/// Softmax over the whole vocabulary, of one token.
inline double probability(const Array<float>& logits, TokenId token) {
  double max = static_cast<double>(logits[0]);
  for (const float logit : logits.span()) max = std::max(max, static_cast<double>(logit));
  double sum = 0;
  for (const float logit : logits.span()) sum += std::exp(static_cast<double>(logit) - max);
  return std::exp(static_cast<double>(logits[static_cast<std::size_t>(token)]) - max) / sum;
}

inline TokenId argmax(const Array<float>& logits) {
  const auto span = logits.span();
  return static_cast<TokenId>(std::max_element(span.begin(), span.end()) - span.begin());
}

/// The largest |a - b|; NaN counts as infinite.
inline double largest_difference(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    largest = difference >= 0 ? std::max(largest, difference) : HUGE_VAL;
  }
  return largest;
}

}  // namespace lookback::test
