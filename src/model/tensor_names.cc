#include "model/tensor_names.h"

#include <charconv>
#include <utility>

namespace lookback::model {
namespace {

struct Spelling {
  std::string_view name;
  Part part;
};

// GGUF. Source: gguf-py, constants.py (MODEL_ARCH.LLAMA).
constexpr Spelling kGgufOnce[] = {
    {"token_embd.weight", Part::kEmbedTokens},
    {"output_norm.weight", Part::kFinalNorm},
    {"output.weight", Part::kLmHead},
};
constexpr Spelling kGgufLayer[] = {
    {"attn_norm.weight", Part::kInputNorm}, {"ffn_norm.weight", Part::kPostAttentionNorm},
    {"attn_q.weight", Part::kQProj},        {"attn_k.weight", Part::kKProj},
    {"attn_v.weight", Part::kVProj},        {"attn_output.weight", Part::kOProj},
    {"ffn_gate.weight", Part::kGateProj},   {"ffn_up.weight", Part::kUpProj},
    {"ffn_down.weight", Part::kDownProj},
};

// Hugging Face. Source: transformers, modeling_llama.py.
constexpr Spelling kHfOnce[] = {
    {"model.embed_tokens.weight", Part::kEmbedTokens},
    {"model.norm.weight", Part::kFinalNorm},
    {"lm_head.weight", Part::kLmHead},
};
constexpr Spelling kHfLayer[] = {
    {"input_layernorm.weight", Part::kInputNorm}, {"post_attention_layernorm.weight", Part::kPostAttentionNorm},
    {"self_attn.q_proj.weight", Part::kQProj},    {"self_attn.k_proj.weight", Part::kKProj},
    {"self_attn.v_proj.weight", Part::kVProj},    {"self_attn.o_proj.weight", Part::kOProj},
    {"mlp.gate_proj.weight", Part::kGateProj},    {"mlp.up_proj.weight", Part::kUpProj},
    {"mlp.down_proj.weight", Part::kDownProj},
};

// ONNX matrices, by the node that multiplies with them: its path without "/model/layers.N/" and "/MatMul". optimum's
// exports say self_attn, the model builder of onnxruntime-genai says attn.
constexpr Spelling kOnnxLayer[] = {
    {"self_attn/q_proj", Part::kQProj}, {"self_attn/k_proj", Part::kKProj}, {"self_attn/v_proj", Part::kVProj},
    {"self_attn/o_proj", Part::kOProj}, {"attn/q_proj", Part::kQProj},      {"attn/k_proj", Part::kKProj},
    {"attn/v_proj", Part::kVProj},      {"attn/o_proj", Part::kOProj},      {"mlp/gate_proj", Part::kGateProj},
    {"mlp/up_proj", Part::kUpProj},     {"mlp/down_proj", Part::kDownProj},
};

template <std::size_t n>
std::optional<Part> find(const Spelling (&spellings)[n], std::string_view name) {
  for (const auto& spelling : spellings) {
    if (spelling.name == name) return spelling.part;
  }
  return std::nullopt;
}

/// "blk.3.attn_q.weight" with prefix "blk." and separator '.' → (3, "attn_q.weight").
std::optional<std::pair<std::uint32_t, std::string_view>> split_layer(std::string_view name, std::string_view prefix,
                                                                      char separator) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::uint32_t layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  if (error != std::errc{} || end == name.data() + name.size() || *end != separator) return std::nullopt;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()) + 1);
  return std::pair{layer, name};
}

template <std::size_t n, std::size_t m>
std::optional<TensorRole> find_role(const Spelling (&once)[n], const Spelling (&layered)[m], std::string_view prefix,
                                    std::string_view name) {
  if (const auto part = find(once, name)) return TensorRole{.part = *part};
  if (const auto split = split_layer(name, prefix, '.')) {
    if (const auto part = find(layered, split->second)) return TensorRole{.part = *part, .layer = split->first};
  }
  return std::nullopt;
}

std::optional<TensorRole> onnx_role(const formats::TensorInfo& tensor) {
  if (tensor.consumer_op == "MatMul") {
    std::string_view node = tensor.consumer;
    const auto end = node.rfind('/');
    if (end == std::string_view::npos) return std::nullopt;
    node = node.substr(0, end);
    if (node == "/lm_head") return TensorRole{.part = Part::kLmHead, .transposed = true};
    if (const auto split = split_layer(node, "/model/layers.", '/')) {
      if (const auto part = find(kOnnxLayer, split->second)) {
        return TensorRole{.part = *part, .layer = split->first, .transposed = true};
      }
    }
    return std::nullopt;
  }
  if (const auto role = find_role(kHfOnce, kHfLayer, "model.layers.", tensor.name)) return role;
  // The model builder's name for the last norm: "model.layers.30.final_norm_layernorm.weight" after 30 layers.
  if (const auto split = split_layer(tensor.name, "model.layers.", '.')) {
    if (split->second == "final_norm_layernorm.weight") return TensorRole{.part = Part::kFinalNorm};
  }
  return std::nullopt;
}

constexpr const char* part_name(Part part) {
  switch (part) {
    case Part::kEmbedTokens:
      return "embed_tokens";
    case Part::kFinalNorm:
      return "norm";
    case Part::kLmHead:
      return "lm_head";
    case Part::kInputNorm:
      return "input_layernorm";
    case Part::kPostAttentionNorm:
      return "post_attention_layernorm";
    case Part::kQProj:
      return "q_proj";
    case Part::kKProj:
      return "k_proj";
    case Part::kVProj:
      return "v_proj";
    case Part::kOProj:
      return "o_proj";
    case Part::kGateProj:
      return "gate_proj";
    case Part::kUpProj:
      return "up_proj";
    case Part::kDownProj:
      return "down_proj";
  }
  return "?";
}

}  // namespace

std::string role_name(const TensorRole& role) {
  const std::string part = part_name(role.part);
  if (role.part == Part::kEmbedTokens || role.part == Part::kFinalNorm || role.part == Part::kLmHead) return part;
  return "layers." + std::to_string(role.layer) + "." + part;
}

Result<std::optional<TensorRole>> tensor_role(formats::Format format, const formats::TensorInfo& tensor) {
  std::optional<TensorRole> role;
  switch (format) {
    case formats::Format::kGguf:
      role = find_role(kGgufOnce, kGgufLayer, "blk.", tensor.name);
      break;
    case formats::Format::kSafetensors:
      role = find_role(kHfOnce, kHfLayer, "model.layers.", tensor.name);
      break;
    case formats::Format::kOnnx:
      role = onnx_role(tensor);
      if (role || !tensor.name.ends_with(".bias")) return role;  // a graph's constants have any name
      break;
  }
  if (role) return role;
  // Old checkpoints store the rotary frequencies, which follow from rope_base.
  if (tensor.name.ends_with("rotary_emb.inv_freq")) return std::optional<TensorRole>{};
  return Error{ErrorCode::kUnsupportedArchitecture,
               "tensor " + tensor.name + " belongs to no part of a Llama network that is read here", std::nullopt};
}

}  // namespace lookback::model
