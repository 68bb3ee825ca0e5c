// KeptPass: what a finished pass left behind, for whoever reads it.
#pragma once

#include <vector>

#include "lookback/types.h"
#include "model/kv_cache.h"
#include "model/switches.h"

namespace lookback::model {

struct KeptPass {
  std::vector<TokenId> ids;  // [length]
  Switches switches;
  KvCache cache;

  std::uint32_t length() const { return static_cast<std::uint32_t>(ids.size()); }
};

}  // namespace lookback::model
