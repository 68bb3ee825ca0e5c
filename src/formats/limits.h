// What a header may claim before it is called a lie. Real files stay far below; memory still grows only with bytes received.
#pragma once

#include <cstdint>

namespace lookback::formats {

/// A whole header. Source: safetensors' own limit (MAX_HEADER_SIZE); taken for GGUF and for ONNX graphs too.
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
/// One string that is a value (a chat template, a token). SmolLM2's longest is 0.3 KB, templates of others reach 20 KB.
inline constexpr std::uint64_t kMaxStringBytes = 1 << 24;
/// One name of a key, tensor or node. Source: the GGUF specification, for keys.
inline constexpr std::uint64_t kMaxNameBytes = 65'535;
/// Key/value pairs, tensors, graph nodes: SmolLM2 has 33, 272 and some 3,000.
inline constexpr std::uint64_t kMaxEntries = 65'536;
/// Elements of one metadata array: vocabularies reach 262,144.
inline constexpr std::uint64_t kMaxArrayElements = 1 << 26;
/// Dimensions of one tensor: a Llama's weights have 2, constants in ONNX graphs a few more. (GGUF: 4, see gguf.cc.)
inline constexpr std::uint64_t kMaxDims = 8;
/// One length in an ONNX file. Source: protobuf, whose messages are below 2 GiB.
inline constexpr std::uint64_t kMaxProtobufBytes = 0x7FFFFFFF;
/// ONNX float_data, which must be kept until the tensor's name is known; raw_data, which is not, has no limit.
inline constexpr std::uint64_t kMaxFloatDataBytes = 1 << 28;

}  // namespace lookback::formats
