#include "tests/fuzz/fuzz_reader.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "formats/file_reader.h"
#include "tests/support/allocation_meter.h"

namespace lookback::test {
namespace {

constexpr std::size_t kMemoryBase = 1'000'000;
constexpr std::size_t kMemoryPerByte = 64;

/// FNV-1a, 64 bits
class Digest {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte b : bytes) value_ = (value_ ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3ULL;
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  void add(std::uint64_t number) { add(std::as_bytes(std::span(&number, 1))); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

class DigestSink final : public formats::TensorSink {
 public:
  Result<void> on_metadata(const formats::Metadata& metadata) override {
    CHECK(n_tensors == 0 && !in_tensor_, "metadata comes first");
    if (const formats::TokenizerData* tokenizer = metadata.tokenizer()) {
      digest.add(tokenizer->tokens.bytes());
      digest.add(tokenizer->merges.bytes());
      CHECK(tokenizer->token_types.empty() || tokenizer->token_types.size() == tokenizer->tokens.count(),
            "a type a token");
    }
    for (const std::string_view key : {"general.architecture", "llama.block_count", "general.alignment"}) {
      digest.add(metadata.get_u32(key).has_value());
      digest.add(metadata.get_f32(key).has_value());
      digest.add(metadata.get_string(key).has_value());
    }
    return {};
  }
  Result<void> on_directory(std::span<const formats::TensorInfo> tensors) override {
    n_directory = tensors.size();
    for (const formats::TensorInfo& tensor : tensors) {
      digest.add(tensor.name);
      digest.add(tensor.consumer);
      digest.add(tensor.offset);
    }
    return {};
  }
  Result<void> begin_tensor(const formats::TensorInfo& tensor) override {
    CHECK(!in_tensor_, "one tensor at a time");
    in_tensor_ = true;
    n_left_ = tensor.n_bytes;
    std::uint64_t n_elements = 1;
    for (const std::uint64_t n : tensor.shape) n_elements *= n;
    CHECK(quant::row_bytes(tensor.dtype, n_elements) == tensor.n_bytes, "a size that fits dtype and shape");
    digest.add(tensor.name);
    return {};
  }
  Result<void> tensor_bytes(std::span<const std::byte> bytes) override {
    CHECK(in_tensor_ && !bytes.empty() && bytes.size() <= n_left_, "bytes of the tensor that began");
    n_left_ -= bytes.size();
    digest.add(bytes);
    return {};
  }
  Result<void> end_tensor() override {
    CHECK(in_tensor_ && n_left_ == 0, "all of its bytes");
    in_tensor_ = false;
    ++n_tensors;
    return {};
  }

  Digest digest;
  std::size_t n_directory = 0;
  std::size_t n_tensors = 0;

 private:
  bool in_tensor_ = false;
  std::uint64_t n_left_ = 0;
};

struct Outcome {
  std::optional<ErrorCode> refused;
  std::uint64_t digest = 0;
};

Result<void> feed_all(formats::FileReader& reader, std::span<const std::byte> bytes, std::size_t piece) {
  while (!bytes.empty()) {
    const auto next = bytes.first(std::min(piece, bytes.size()));
    LOOKBACK_TRY(reader.feed(next));
    bytes = bytes.subspan(next.size());
  }
  return reader.finish();
}

Result<void> read(const std::string& name, std::span<const std::byte> bytes, std::size_t piece,
                  std::optional<std::uint64_t> n_bytes, DigestSink& sink) {
  auto reader = formats::FileReader::create(name, n_bytes, &sink);
  if (!reader) return reader.error();
  LOOKBACK_TRY(feed_all(**reader, bytes, piece));
  CHECK((*reader)->header_complete(), "a file that is accepted has its directory");
  CHECK((*reader)->tensors().size() == sink.n_directory, "the sink's directory is the reader's");
  const std::vector<std::string> external_files = (*reader)->external_files();
  CHECK(!external_files.empty() || sink.n_tensors == sink.n_directory, "a file that is accepted has all its tensors");
  for (const std::string& file : external_files) {  // the same bytes serve as data
    auto external = formats::FileReader::create_external(**reader, file, n_bytes, &sink);
    if (!external) return external.error();
    LOOKBACK_TRY(feed_all(**external, bytes, piece));
  }
  CHECK(sink.n_tensors == sink.n_directory, "all tensors once the external files are read");
  return {};
}

Outcome outcome(const std::string& name, std::span<const std::byte> bytes, std::size_t piece,
                std::optional<std::uint64_t> n_bytes) {
  const AllocationMeter meter;
  DigestSink sink;
  const auto result = read(name, bytes, piece, n_bytes, sink);
  CHECK(meter.peak_bytes() <= kMemoryBase + kMemoryPerByte * bytes.size(), "memory grows only with bytes received");
  if (result) return {std::nullopt, sink.digest.value()};
  CHECK(result.error().message.find(": ") != std::string::npos, "a refusal names the file");
  return {result.error().code, 0};
}

}  // namespace

void fuzz_reader(const std::string& name, std::span<const std::byte> bytes) {
  Digest seed;
  seed.add(bytes);
  const std::size_t piece = 1 + static_cast<std::size_t>(seed.value() % 61);
  const bool size_known = seed.value() / 64 % 2 == 0;

  const Outcome whole = outcome(name, bytes, bytes.size() + 1, bytes.size());
  const Outcome pieces = outcome(name, bytes, piece, size_known ? std::optional(bytes.size()) : std::nullopt);
  CHECK(whole.refused.has_value() == pieces.refused.has_value(), "accepted in pieces as it is whole");
  CHECK(!size_known || whole.refused == pieces.refused, "refused in pieces for the same reason");
  CHECK(whole.digest == pieces.digest, "the same contents in pieces");
}

}  // namespace lookback::test
