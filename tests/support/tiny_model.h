// TinyModel: a small llama GGUF with random weights, made in memory, whose tensors and keys a test may change.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/byte_writer.h"
#include "tests/support/seeded_rng.h"

namespace lookback::test {

struct TinyModel {
  std::uint32_t n_layer = 2;
  std::uint32_t n_embd = 32;
  std::uint32_t n_head = 4;
  std::uint32_t n_kv_head = 2;
  std::uint32_t head_dim = 8;
  std::uint32_t n_ff = 48;
  std::uint32_t n_vocab = 67;  // no multiple of anything
  std::uint32_t n_ctx = 300;
  std::uint32_t seed = 1;
  /// Called for each tensor with its name and numbers, before they are written.
  std::function<void(std::string_view, std::span<float>)> edit = {};
  /// Adds keys, or tensors beyond the network's own.
  std::function<void(GgufWriter&)> more_keys = {};

  std::vector<std::byte> gguf() const {
    constexpr std::uint32_t kU32 = 4;  // gguf_metadata_value_type
    constexpr std::uint32_t kF32 = 6;
    GgufWriter header;
    header.key("general.architecture", "llama");
    header.key("llama.block_count", kU32, n_layer).key("llama.embedding_length", kU32, n_embd);
    header.key("llama.feed_forward_length", kU32, n_ff).key("llama.context_length", kU32, n_ctx);
    header.key("llama.attention.head_count", kU32, n_head).key("llama.attention.head_count_kv", kU32, n_kv_head);
    header.key("llama.attention.key_length", kU32, head_dim);
    header.key("llama.attention.layer_norm_rms_epsilon", kF32, 1e-5f).key("llama.rope.freq_base", kF32, 1e4f);
    if (more_keys) more_keys(header);

    SeededRng rng(seed);
    ByteWriter data;
    const auto add = [&](const std::string& name, std::vector<std::uint64_t> dims) {
      header.tensor(name, dims, 0, data.size());
      std::size_t n = 1;
      for (const auto dim : dims) n *= dim;
      std::vector<float> values(n);
      const bool norm = dims.size() == 1;
      const float width = norm ? 0.2f : std::sqrt(3.0f / static_cast<float>(dims[0]));
      for (float& value : values) value = rng.uniform(-width, width) + (norm ? 1.0f : 0.0f);
      if (edit) edit(name, values);
      data.bytes(std::as_bytes(std::span(values)));
      data.zeros((32 - data.size() % 32) % 32);
    };
    const std::uint64_t n_q = std::uint64_t{n_head} * head_dim;
    const std::uint64_t n_kv = std::uint64_t{n_kv_head} * head_dim;
    add("token_embd.weight", {n_embd, n_vocab});
    for (std::uint32_t layer = 0; layer < n_layer; ++layer) {
      const std::string prefix = "blk." + std::to_string(layer) + ".";
      add(prefix + "attn_norm.weight", {n_embd});
      add(prefix + "attn_q.weight", {n_embd, n_q});
      add(prefix + "attn_k.weight", {n_embd, n_kv});
      add(prefix + "attn_v.weight", {n_embd, n_kv});
      add(prefix + "attn_output.weight", {n_q, n_embd});
      add(prefix + "ffn_norm.weight", {n_embd});
      add(prefix + "ffn_gate.weight", {n_embd, n_ff});
      add(prefix + "ffn_up.weight", {n_embd, n_ff});
      add(prefix + "ffn_down.weight", {n_ff, n_embd});
    }
    add("output_norm.weight", {n_embd});

    auto file = header.done();
    const auto& bytes = data.done();
    file.insert(file.end(), bytes.begin(), bytes.end());
    return file;
  }
};

}  // namespace lookback::test
