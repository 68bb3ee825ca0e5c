// Writes the hand-made seeds of the corpus: small sound files that reach every part of a reader. Argument: the corpus folder.
#include <array>
#include <cstdint>
#include <fstream>
#include <string>

#include "tests/support/byte_writer.h"
#include "tests/support/tiny_model.h"

namespace {

using lookback::test::ByteWriter;
using lookback::test::GgufWriter;
using lookback::test::ProtobufWriter;

void write(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::byte> gguf_seed() {
  GgufWriter file;
  file.key("general.architecture", "llama").key("general.alignment", 4, 32U).key("llama.block_count", 4, 1U);
  file.key("f32", 6, 1e-5F).key("u8", 0, std::uint8_t{1}).key("i16", 3, std::int16_t{-1}).key("f64", 12, 0.5);
  file.key("u64", 10, std::uint64_t{7}).key("i64", 11, std::int64_t{-7}).key("flag", 7, std::uint8_t{1});
  file.key("tokenizer.ggml.model", "gpt2").key("tokenizer.chat_template", "{{ x }}");
  file.strings("tokenizer.ggml.tokens", std::array<std::string, 3>{"a", "b", "ab"});
  file.strings("tokenizer.ggml.merges", std::array<std::string, 1>{"a b"});
  ++file.n_key_values;
  lookback::test::gguf_string(file.key_values, "tokenizer.ggml.token_type")
      .number(9U)
      .number(5U)
      .number(std::uint64_t{3});
  file.key_values.number(1).number(1).number(3);
  file.key("tokenizer.ggml.bos_token_id", 4, 1U).key("tokenizer.ggml.add_bos_token", 7, std::uint8_t{0});
  file.tensor("f32", std::array<std::uint64_t, 2>{4, 2}, 0, 0).tensor("q8_0", std::array<std::uint64_t, 1>{32}, 8, 64);
  file.tensor("f16", std::array<std::uint64_t, 3>{1, 2, 3}, 1, 32)
      .tensor("q6_k", std::array<std::uint64_t, 1>{256}, 14, 128);
  file.data_bytes = 128 + 210;
  return file.done();
}

std::vector<std::byte> onnx_seed() {
  ProtobufWriter graph;
  graph.message(1, ProtobufWriter().text(1, "x").text(1, "w").text(2, "y").text(3, "/q_proj/MatMul").text(4, "MatMul"));
  const auto branch = ProtobufWriter().message(1, ProtobufWriter().text(1, "x").text(4, "Squeeze"));
  graph.message(1, ProtobufWriter().text(3, "/If").text(4, "If").message(
                       5, ProtobufWriter().text(1, "then_branch").message(6, branch).varint(20, 5)));
  graph.text(2, "graph");
  graph.message(5, ProtobufWriter().text(1, "\x03").varint(2, 16).text(5, "\x7F\x80\x78\x01").text(8, "halves"));
  graph.message(5, ProtobufWriter().varint(1, 2).varint(1, 2).varint(2, 1).text(8, "w").text(9, std::string(16, 'x')));
  graph.message(5, ProtobufWriter().text(1, "\x02\x01").varint(2, 1).text(4, std::string(8, 'y')).text(8, "packed"));
  graph.message(5, ProtobufWriter().varint(1, 1).varint(2, 7).text(8, "axes").text(9, "12345678"));
  graph.message(5, ProtobufWriter()
                       .varint(1, 4)
                       .varint(2, 10)
                       .text(8, "e")
                       .text(9, "")
                       .message(13, ProtobufWriter().text(1, "location").text(2, "data"))
                       .message(13, ProtobufWriter().text(1, "offset").text(2, "8"))
                       .message(13, ProtobufWriter().text(1, "length").text(2, "8"))
                       .varint(14, 1));
  graph.message(11, ProtobufWriter().text(1, "x"));
  return ProtobufWriter()
      .varint(1, 8)
      .text(2, "maker")
      .message(7, graph)
      .message(8, ProtobufWriter().varint(2, 14))
      .done();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string corpus = argv[1];
  write(corpus + "/gguf/seed_all_kinds", gguf_seed());
  write(corpus + "/onnx/seed_all_kinds", onnx_seed());
  write(
      corpus + "/safetensors/seed_all_kinds",
      lookback::test::safetensors_file(
          R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
          R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},"c":{"dtype":"F16","shape":[],"data_offsets":[12,14]}} )",
          14));
  const lookback::test::TinyModel tiny{
      .n_layer = 1, .n_embd = 16, .n_head = 2, .n_kv_head = 1, .head_dim = 8, .n_ff = 16, .n_vocab = 5, .n_ctx = 16};
  write(corpus + "/engine/seed_tiny", tiny.gguf());
  const std::string config =
      R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": 32,)"
      R"( "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,)"
      R"( "vocab_size": 67, "max_position_embeddings": 300, "rope_theta": 10000.0, "rms_norm_eps": 1e-05,)"
      R"( "rope_scaling": null, "attention_bias": false, "tie_word_embeddings": true})";
  write(corpus + "/config/seed_small",
        {std::as_bytes(std::span(config)).begin(), std::as_bytes(std::span(config)).end()});
  return 0;
}
