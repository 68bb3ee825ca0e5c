// model: one Llama-architecture network. Owns: hyperparameters, weights, keys and values, the pass, what is read from it.
// May touch: base, quant, formats, kernels. Start reading at forward.h.
#pragma once

#include <string_view>

#include "formats/metadata.h"
#include "lookback/result.h"
#include "lookback/types.h"

namespace lookback::model {

/// The hyperparameters that a GGUF's llama.* keys state. n_vocab stays 0 where no key gives it: the embedding does then.
/// Errors: missing_metadata; unsupported_architecture, naming what would need other code; bad_config.
Result<ModelConfig> config_from_metadata(const formats::Metadata& metadata);

/// The same from a Hugging Face config.json.
Result<ModelConfig> config_from_json(std::string_view json);

/// Sizes within limits, heads in whole groups, an even head_dim, finite positive base and eps.
/// Errors: bad_config, naming the numbers that contradict one another.
Result<void> check_config(const ModelConfig& config);

}  // namespace lookback::model
