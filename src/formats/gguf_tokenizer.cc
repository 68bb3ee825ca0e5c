#include "formats/gguf_tokenizer.h"

#include <string>

namespace lookback::formats {
namespace {

Result<void> read_text(const Metadata& metadata, std::string_view key, std::string& field) {
  const auto value = metadata.get_string_or(key, "");
  if (!value) return value.error();
  field = std::string(*value);
  return {};
}

Result<void> read_id(const Metadata& metadata, std::string_view key, std::optional<std::uint32_t>& field) {
  if (!metadata.contains(key)) return {};
  const auto value = metadata.get_u32(key);
  if (!value) return value.error();
  field = *value;
  return {};
}

Result<void> read_flag(const Metadata& metadata, std::string_view key, bool& field) {
  const auto value = metadata.get_bool_or(key, false);
  if (!value) return value.error();
  field = *value;
  return {};
}

}  // namespace

Result<void> read_tokenizer_keys(const Metadata& metadata, TokenizerData& tokenizer) {
  LOOKBACK_TRY(read_text(metadata, "tokenizer.ggml.model", tokenizer.model));
  LOOKBACK_TRY(read_text(metadata, "tokenizer.ggml.pre", tokenizer.pre));
  LOOKBACK_TRY(read_text(metadata, "tokenizer.chat_template", tokenizer.chat_template));
  LOOKBACK_TRY(read_id(metadata, "tokenizer.ggml.bos_token_id", tokenizer.bos_id));
  LOOKBACK_TRY(read_id(metadata, "tokenizer.ggml.eos_token_id", tokenizer.eos_id));
  LOOKBACK_TRY(read_id(metadata, "tokenizer.ggml.unknown_token_id", tokenizer.unk_id));
  LOOKBACK_TRY(read_id(metadata, "tokenizer.ggml.padding_token_id", tokenizer.pad_id));
  LOOKBACK_TRY(read_flag(metadata, "tokenizer.ggml.add_bos_token", tokenizer.add_bos));
  LOOKBACK_TRY(read_flag(metadata, "tokenizer.ggml.add_space_prefix", tokenizer.add_space_prefix));
  if (tokenizer.token_types.empty() || tokenizer.token_types.size() == tokenizer.tokens.count()) return {};
  return Error{ErrorCode::kBadHeader,
               "metadata key " + std::string(kTokenTypesKey) + ": " + std::to_string(tokenizer.token_types.size()) +
                   " entries for " + std::to_string(tokenizer.tokens.count()) + " tokens",
               std::nullopt};
}

}  // namespace lookback::formats
