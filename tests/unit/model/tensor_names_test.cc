#include "model/tensor_names.h"

#include <gtest/gtest.h>

namespace lookback::test {
namespace {

using formats::Format;
using model::Part;

formats::TensorInfo tensor(const std::string& name, const std::string& consumer = "", const std::string& op = "") {
  return {.name = name,
          .consumer = consumer,
          .consumer_op = op,
          .dtype = quant::DType::kF32,
          .shape = {},
          .n_bytes = 0,
          .offset = 0};
}

TEST(TensorRole, OfEveryFormat) {
  const struct {
    Format format;
    formats::TensorInfo info;
    Part part;
    std::uint32_t layer;
    bool transposed;
  } cases[] = {
      {Format::kGguf, tensor("token_embd.weight"), Part::kEmbedTokens, 0, false},
      {Format::kGguf, tensor("output.weight"), Part::kLmHead, 0, false},
      {Format::kGguf, tensor("blk.29.attn_output.weight"), Part::kOProj, 29, false},
      {Format::kGguf, tensor("blk.3.ffn_norm.weight"), Part::kPostAttentionNorm, 3, false},
      {Format::kSafetensors, tensor("model.layers.12.mlp.down_proj.weight"), Part::kDownProj, 12, false},
      {Format::kSafetensors, tensor("model.norm.weight"), Part::kFinalNorm, 0, false},
      {Format::kOnnx, tensor("onnx::MatMul_512", "/model/layers.7/self_attn/q_proj/MatMul", "MatMul"), Part::kQProj, 7,
       true},
      {Format::kOnnx,
       tensor("model.layers.2.attn.o_proj.MatMul.weight", "/model/layers.2/attn/o_proj/MatMul", "MatMul"), Part::kOProj,
       2, true},
      {Format::kOnnx, tensor("onnx::MatMul_9", "/lm_head/MatMul", "MatMul"), Part::kLmHead, 0, true},
      {Format::kOnnx, tensor("model.embed_tokens.weight", "/model/embed_tokens/Gather", "Gather"), Part::kEmbedTokens,
       0, false},
      {Format::kOnnx, tensor("model.layers.30.final_norm_layernorm.weight", "/n", "SkipSimplifiedLayerNormalization"),
       Part::kFinalNorm, 0, false},
  };
  for (const auto& expected : cases) {
    const auto role = model::tensor_role(expected.format, expected.info);
    ASSERT_TRUE(role.has_value() && role->has_value()) << expected.info.name;
    EXPECT_EQ((*role)->part, expected.part) << expected.info.name;
    EXPECT_EQ((*role)->layer, expected.layer) << expected.info.name;
    EXPECT_EQ((*role)->transposed, expected.transposed) << expected.info.name;
  }
}

TEST(TensorRole, OfWhatAPassDoesNotNeed) {
  for (const auto& [format, info] :
       {std::pair{Format::kOnnx, tensor("/Constant_6_output_0", "/model/Pow", "Pow")},
        std::pair{Format::kOnnx,
                  tensor("cos_cache", "/model/layers.0/attn/GroupQueryAttention", "GroupQueryAttention")},
        std::pair{Format::kSafetensors, tensor("model.layers.0.self_attn.rotary_emb.inv_freq")}}) {
    const auto role = model::tensor_role(format, info);
    ASSERT_TRUE(role.has_value()) << info.name;
    EXPECT_FALSE(role->has_value()) << info.name;
  }
}

TEST(TensorRole, RefusesWhatWouldChangeThePass) {
  for (const auto& [format, info] :
       {std::pair{Format::kGguf, tensor("blk.0.attn_q.bias")}, std::pair{Format::kGguf, tensor("rope_freqs.weight")},
        std::pair{Format::kGguf, tensor("blk.0.ffn_gate_exps.weight")},
        std::pair{Format::kGguf, tensor("blk.x.attn_q.weight")},
        std::pair{Format::kSafetensors, tensor("model.layers.0.self_attn.q_norm.weight")},
        std::pair{Format::kOnnx, tensor("model.layers.0.self_attn.q_proj.bias", "/a", "Add")}}) {
    const auto role = model::tensor_role(format, info);
    ASSERT_FALSE(role.has_value()) << info.name;
    EXPECT_EQ(role.error().code, ErrorCode::kUnsupportedArchitecture);
    EXPECT_NE(role.error().message.find(info.name), std::string::npos) << role.error().message;
  }
}

}  // namespace
}  // namespace lookback::test
