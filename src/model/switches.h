// Switches: which heads and links of a pass are off.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/attention.h"
#include "lookback/result.h"
#include "lookback/types.h"

namespace lookback::model {

class Switches {
 public:
  Switches() = default;

  /// Errors: bad_argument for an index out of range, a key after its query, or a row that would keep no key.
  static Result<Switches> create(const ModelConfig& config, std::span<const Off> off);

  /// Heads of this layer whose output is zeroed before o_proj, each once.
  std::span<const std::uint32_t> heads_off(std::uint32_t layer) const;
  /// Links of this layer whose score is -inf before the softmax, each once.
  std::span<const kernels::CutLink> cut_links(std::uint32_t layer) const;

  /// The lowest layer where something else is off; n_layer where nothing is.
  std::uint32_t first_difference(const Switches& other, std::uint32_t n_layer) const;

 private:
  struct Layer {
    std::vector<std::uint32_t> heads;     // ascending
    std::vector<kernels::CutLink> links;  // by head, query, key
  };
  std::vector<Layer> layers_;  // [n_layer], or none when nothing is off
};

}  // namespace lookback::model
