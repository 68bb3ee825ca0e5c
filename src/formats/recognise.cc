#include "formats/recognise.h"

#include <algorithm>

#include "formats/refusal.h"

namespace lookback::formats {
namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

/// Text begins without control bytes and without those that UTF-8 never uses; a model has some among its first eight: a
/// version, or the high bytes of a length.
bool is_text(std::string_view start) {
  const std::string_view first = start.substr(0, 8);
  return !first.empty() && std::all_of(first.begin(), first.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= ' ' && byte < 0xF8) || c == '\n' || c == '\r' || c == '\t';
  });
}

/// Tags of ModelProto's fields, one of which is a message's first byte.
bool starts_model_proto(std::byte first) {
  constexpr unsigned char kTags[] = {0x08, 0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42, 0x72};
  return std::find(std::begin(kTags), std::end(kTags), std::to_integer<unsigned char>(first)) != std::end(kTags);
}

}  // namespace

std::optional<Format> recognise(std::string_view name, std::span<const std::byte> start) {
  const std::string_view text = as_text(start);
  const std::string extension = lower(name.substr(std::min(name.size(), name.rfind('.'))));
  if (text.starts_with("GGUF")) return Format::kGguf;
  if (start.empty() || is_text(text) || extension == ".gguf") return std::nullopt;
  if (extension == ".safetensors") return Format::kSafetensors;
  if (extension == ".onnx") return starts_model_proto(start[0]) ? std::optional(Format::kOnnx) : std::nullopt;
  if (start.size() > 8 && text[8] == '{') return Format::kSafetensors;
  if (start[0] == std::byte{0x08}) return Format::kOnnx;
  return std::nullopt;
}

std::string describe_other(std::span<const std::byte> start) {
  std::string_view text = as_text(start);
  if (text.starts_with("version https://git-lfs")) {
    return "this is a git-lfs pointer, not the model itself; take the file from the hub's /resolve/ address or run git "
           "lfs pull";
  }
  if (text.starts_with("\x1f\x8b")) return "this is gzip-compressed data, expected the unpacked model";
  if (text.starts_with("PK\x03\x04"))
    return "this is a zip archive (perhaps a PyTorch checkpoint), expected GGUF, safetensors or ONNX";
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
  const std::string low = lower(text.substr(0, 64));
  for (const std::string_view mark : {"<!doctype", "<html", "<?xml", "<head", "<body", "<!--"}) {
    if (low.starts_with(mark)) {
      return "this is a web page (it begins " + in_quotes(text.substr(0, 40)) +
             "), not a model: the address may be of the page about the file; a hub's file is under /resolve/, not "
             "/blob/";
    }
  }
  if (low.starts_with("{") || low.starts_with("[")) {
    return "this is JSON (it begins " + in_quotes(text) +
           "), not a model: perhaps a server's error message, or a config file";
  }
  if (is_text(text)) return "this is text (it begins " + in_quotes(text.substr(0, 40)) + "), not a model";
  return "it begins " + in_quotes(as_text(start.first(std::min<std::size_t>(start.size(), 8)))) +
         ", expected GGUF, safetensors or ONNX";
}

}  // namespace lookback::formats
