// Metadata: a GGUF file's key/value pairs; TokenizerData: its tokenizer, kept compactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lookback/result.h"

namespace lookback::formats {

/// Strings one after another, each as u32 length (little-endian) + bytes: the form in which they leave the engine.
class StringBlob {
 public:
  void append(std::string_view text);
  std::size_t count() const { return count_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t count_ = 0;
};

/// The tokenizer.ggml.* keys. Ids are as in the file: not yet held against the number of tokens.
struct TokenizerData {
  std::string model;          ///< "gpt2"
  std::string pre;            ///< "smollm"; empty when the file names none
  std::string chat_template;  ///< empty when there is none
  StringBlob tokens;          ///< [n_vocab]
  StringBlob merges;          ///< [n_merges], "left right"
  std::vector<std::int32_t>
      token_types;  ///< [n_vocab], or empty; llama.cpp's: 1 normal, 3 control, 4 user-defined, 6 byte
  std::optional<std::uint32_t> bos_id, eos_id, unk_id, pad_id;
  bool add_bos = false;
  bool add_space_prefix = false;
};

/// An array other than the tokenizer's: what it is, not what it holds.
struct ArrayNote {
  std::uint64_t n_elements;
};

/// Key/value pairs. Each getter refuses a value of another kind with bad_header, naming the key, and (without a
/// default) an absent one with missing_metadata.
class Metadata {
 public:
  using Value = std::variant<std::uint64_t, std::int64_t, double, bool, std::string, ArrayNote>;

  bool contains(std::string_view key) const { return values_.find(key) != values_.end(); }
  std::size_t size() const { return values_.size(); }

  /// Any integer of the file that fits 32 unsigned bits.
  Result<std::uint32_t> get_u32(std::string_view key) const;
  Result<std::uint32_t> get_u32_or(std::string_view key, std::uint32_t fallback) const;
  /// A float of the file (f32 or f64), rounded to f32. Not checked for being finite.
  Result<float> get_f32(std::string_view key) const;
  Result<float> get_f32_or(std::string_view key, float fallback) const;
  Result<bool> get_bool_or(std::string_view key, bool fallback) const;
  /// The view lives as long as the metadata.
  Result<std::string_view> get_string(std::string_view key) const;
  Result<std::string_view> get_string_or(std::string_view key, std::string_view fallback) const;

  /// Null where the file holds no tokenizer.ggml.model.
  const TokenizerData* tokenizer() const { return tokenizer_ ? &*tokenizer_ : nullptr; }

  // For readers. `set` says whether the key is new.
  bool set(std::string key, Value value);
  void set_tokenizer(TokenizerData tokenizer) { tokenizer_ = std::move(tokenizer); }

 private:
  std::map<std::string, Value, std::less<>> values_;
  std::optional<TokenizerData> tokenizer_;
};

}  // namespace lookback::formats
