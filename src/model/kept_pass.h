// KeptPass: what a finished pass left behind, for whoever reads it.
#pragma once

#include <vector>

#include "lookback/types.h"
#include "model/kv_cache.h"
#include "model/switches.h"

namespace lookback::model {

/// Layers from one kept residual stream to the next. Keeping one before every fifth takes a tenth more memory than keys,
/// values and queries, and a pass with other switches then runs two layers too many on average.
inline constexpr std::uint32_t kStreamLayers = 5;

/// Streams that a pass keeps: those before layers kStreamLayers, 2 · kStreamLayers, …, and the one behind the last.
constexpr std::uint32_t n_streams(std::uint32_t n_layer) { return (n_layer - 1) / kStreamLayers + 1; }

struct KeptPass {
  std::vector<TokenId> ids;  // [length]
  Switches switches;
  KvCache cache;

  std::uint32_t length() const { return static_cast<std::uint32_t>(ids.size()); }
};

}  // namespace lookback::model
