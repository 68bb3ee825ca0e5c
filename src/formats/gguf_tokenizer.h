// The tokenizer of a GGUF: its keys in one place.
#pragma once

#include <string_view>

#include "formats/metadata.h"
#include "lookback/result.h"

namespace lookback::formats {

// The arrays that are kept, not only noted.
inline constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
inline constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
inline constexpr std::string_view kTokenTypesKey = "tokenizer.ggml.token_type";

/// Fills what the scalar keys say into `tokenizer`, which holds the arrays already.
/// Errors: bad_header, naming the key, for a value of another kind, or types that are not as many as the tokens.
Result<void> read_tokenizer_keys(const Metadata& metadata, TokenizerData& tokenizer);

}  // namespace lookback::formats
