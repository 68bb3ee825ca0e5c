#include "formats/gguf.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

#include "tests/support/byte_writer.h"
#include "tests/support/recording_sink.h"
#include "tests/unit/formats/read_file.h"

namespace lookback::test {
namespace {

constexpr std::uint32_t kU8 = 0, kI32 = 5, kU32 = 4, kF32 = 6, kBool = 7, kU64 = 10, kI64 = 11,
                        kF64 = 12;                        // value types
constexpr std::uint32_t kTensorF32 = 0, kTensorQ8_0 = 8;  // ggml types

constexpr std::array<std::uint64_t, 2> kDims = {4, 2};  // 32 bytes in F32

/// A sound file: two tensors of 32 bytes, the second first in the directory.
GgufWriter sound() {
  GgufWriter file;
  file.key("general.architecture", "llama");
  file.tensor("b", kDims, kTensorF32, 32).tensor("a", kDims, kTensorF32, 0);
  file.data_bytes = 64;
  return file;
}

/// The error, the same however the file arrives.
Error refusal(const std::vector<std::byte>& bytes) {
  std::optional<Error> first;
  for (const Delivery& delivery : deliveries()) {
    RecordingSink sink;
    const auto read = read_file("lie.gguf", bytes, delivery, &sink);
    EXPECT_FALSE(read.has_value()) << "pieces of " << delivery.piece << (delivery.size_known ? ", size known" : "");
    if (read) continue;
    if (!first) first = read.error();
    EXPECT_EQ(error_code_name(read.error().code), error_code_name(first->code)) << read.error().message;
  }
  return first.value_or(Error{ErrorCode::kWrongState, "nothing was refused", std::nullopt});
}

void expect_refused(const GgufWriter& file, ErrorCode code, const std::string& says) {
  const Error error = refusal(file.done());
  EXPECT_EQ(error_code_name(error.code), error_code_name(code)) << error.message;
  EXPECT_NE(error.message.find(says), std::string::npos) << error.message;
  EXPECT_TRUE(error.offset.has_value()) << error.message;
}

TEST(Gguf, GivesTensorsInTheOrderOfTheirData) {
  for (const Delivery& delivery : deliveries()) {
    RecordingSink sink;
    const auto read = read_file("sound.gguf", sound().done(), delivery, &sink);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    ASSERT_EQ(sink.directory->size(), 2U);
    EXPECT_EQ((*sink.directory)[0].name, "a");
    EXPECT_EQ((*sink.directory)[0].shape, (std::vector<std::uint64_t>{2, 4}));
    EXPECT_EQ(sink.tensors.at("a").bytes[1], std::byte{1});
    EXPECT_EQ(sink.tensors.at("b").bytes[1], std::byte{33});
    EXPECT_EQ((*read)->metadata().get_string("general.architecture").value(), "llama");
    EXPECT_EQ((*read)->metadata().tokenizer(), nullptr);
  }
}

TEST(Gguf, ReadsVersion2AndAFileWithoutTensors) {
  GgufWriter file;
  file.version = 2;
  RecordingSink sink;
  EXPECT_TRUE(read_file("empty.gguf", file.done(), {1, true}, &sink).has_value());
  EXPECT_TRUE(sink.directory->empty());
  file.alignment = 0;  // no padding either
  RecordingSink other;
  EXPECT_TRUE(read_file("empty.gguf", file.done(), {1, true}, &other).has_value());
}

TEST(Gguf, KeepsValuesByKind) {
  GgufWriter file;
  file.key("u8", kU8, std::uint8_t{200}).key("i32", kI32, std::int32_t{7}).key("below 0", kI32, std::int32_t{-7});
  file.key("u64", kU64, std::uint64_t{1} << 40).key("i64", kI64, std::int64_t{3}).key("f32", kF32, 1e-5F);
  file.key("f64", kF64, 0.5).key("yes", kBool, std::uint8_t{1}).key("text", "words");
  file.strings("list", std::array<std::string, 2>{"x", "y"});
  RecordingSink sink;
  const auto read = read_file("values.gguf", file.done(), {3, true}, &sink);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  const formats::Metadata& metadata = (*read)->metadata();
  EXPECT_EQ(metadata.size(), 10U);
  EXPECT_EQ(metadata.get_u32("u8").value(), 200U);
  EXPECT_EQ(metadata.get_u32("i32").value(), 7U);
  EXPECT_EQ(metadata.get_u32("i64").value(), 3U);
  EXPECT_EQ(metadata.get_f32("f32").value(), 1e-5F);
  EXPECT_EQ(metadata.get_f32("f64").value(), 0.5F);
  EXPECT_TRUE(metadata.get_bool_or("yes", false).value());
  EXPECT_EQ(metadata.get_string("text").value(), "words");

  EXPECT_EQ(metadata.get_u32("absent").error().code, ErrorCode::kMissingMetadata);
  EXPECT_EQ(metadata.get_u32_or("absent", 5).value(), 5U);
  EXPECT_EQ(metadata.get_f32_or("absent", 2.0F).value(), 2.0F);
  EXPECT_EQ(metadata.get_string_or("absent", "none").value(), "none");
  EXPECT_TRUE(metadata.get_bool_or("absent", true).value());
  for (const std::string_view key : {"below 0", "u64", "f32", "text", "list", "yes"}) {
    EXPECT_EQ(metadata.get_u32(key).error().code, ErrorCode::kBadHeader) << key;
    EXPECT_EQ(metadata.get_u32_or(key, 1).error().code, ErrorCode::kBadHeader) << key;
  }
  EXPECT_EQ(metadata.get_f32("i32").error().code, ErrorCode::kBadHeader);
  EXPECT_EQ(metadata.get_string("list").error().code, ErrorCode::kBadHeader);
  EXPECT_EQ(metadata.get_bool_or("u8", false).error().code, ErrorCode::kBadHeader);
}

TEST(Gguf, KeepsTheTokenizer) {
  GgufWriter file;
  file.key("tokenizer.ggml.model", "gpt2")
      .key("tokenizer.ggml.pre", "smollm")
      .key("tokenizer.chat_template", "{{ x }}");
  file.strings("tokenizer.ggml.tokens", std::array<std::string, 3>{"a", "", "\xC4\xA0the"});
  file.strings("tokenizer.ggml.merges", std::array<std::string, 1>{"t he"});
  ++file.n_key_values;
  gguf_string(file.key_values, "tokenizer.ggml.token_type").number(9U).number(kI32).number(std::uint64_t{3});
  file.key_values.number(1).number(3).number(6);
  file.key("tokenizer.ggml.bos_token_id", kU32, 1U).key("tokenizer.ggml.eos_token_id", kU32, 2U);
  file.key("tokenizer.ggml.add_bos_token", kBool, std::uint8_t{1});
  for (const Delivery& delivery : deliveries()) {
    RecordingSink sink;
    const auto read = read_file("tokenizer.gguf", file.done(), delivery, &sink);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    const formats::TokenizerData* tokenizer = (*read)->metadata().tokenizer();
    ASSERT_NE(tokenizer, nullptr);
    EXPECT_EQ(tokenizer->model, "gpt2");
    EXPECT_EQ(tokenizer->pre, "smollm");
    EXPECT_EQ(tokenizer->chat_template, "{{ x }}");
    EXPECT_EQ(tokenizer->tokens.count(), 3U);
    ByteWriter blob;
    blob.number(1U).text("a").number(0U).number(5U).text("\xC4\xA0the");
    EXPECT_TRUE(std::ranges::equal(tokenizer->tokens.bytes(), blob.done()));
    EXPECT_EQ(tokenizer->merges.count(), 1U);
    EXPECT_EQ(tokenizer->token_types, (std::vector<std::int32_t>{1, 3, 6}));
    EXPECT_EQ(tokenizer->bos_id, 1U);
    EXPECT_EQ(tokenizer->eos_id, 2U);
    EXPECT_EQ(tokenizer->unk_id, std::nullopt);
    EXPECT_TRUE(tokenizer->add_bos);
    EXPECT_FALSE(tokenizer->add_space_prefix);
  }
}

TEST(GgufLies, InDimensions) {
  const auto with_dims = [](std::vector<std::uint64_t> dims, std::uint32_t type = kTensorF32) {
    GgufWriter file;
    file.tensor("w", dims, type, 0);
    file.data_bytes = 64;
    return file;
  };
  expect_refused(with_dims({4, 0}), ErrorCode::kBadHeader, "\"w\": shape [0, 4] has a dimension of 0");
  expect_refused(with_dims({}), ErrorCode::kBadHeader, "\"w\": 0 dimensions");
  expect_refused(with_dims({1, 1, 1, 1, 1, 1, 1, 1, 1}), ErrorCode::kBadHeader, "\"w\": 9 dimensions");
  expect_refused(with_dims({1ULL << 33, 1ULL << 33}), ErrorCode::kBadHeader, "overflows");
  expect_refused(with_dims({1ULL << 32, 1ULL << 32, 1ULL << 32, 1ULL << 32}), ErrorCode::kBadHeader, "overflows");
  expect_refused(with_dims({(1ULL << 42) + 1, 4}), ErrorCode::kTruncated, "\"w\"");
  expect_refused(with_dims({20, 2}, kTensorQ8_0), ErrorCode::kBadHeader, "rows of 20 are no multiple");
  expect_refused(with_dims({32}, 10), ErrorCode::kUnsupportedDtype, "\"w\": type 10 (Q2_K)");
}

TEST(GgufLies, InAlignment) {
  for (const std::uint32_t alignment : {0U, 1U, 4U, 24U, 33U, 1U << 17, 1U << 30}) {
    GgufWriter file = sound();
    file.key("general.alignment", kU32, alignment);
    expect_refused(file, ErrorCode::kBadHeader, "general.alignment is " + std::to_string(alignment));
  }
  GgufWriter file = sound();
  file.key("general.alignment", "32");
  const Error error = refusal(file.done());
  EXPECT_EQ(error.code, ErrorCode::kBadHeader);
  EXPECT_NE(error.message.find("lie.gguf: metadata key general.alignment"), std::string::npos) << error.message;
}

TEST(Gguf, HonoursAnotherAlignment) {
  GgufWriter file;
  file.key("general.alignment", kU32, 128U);
  file.tensor("a", kDims, kTensorF32, 0).tensor("b", kDims, kTensorF32, 128);
  file.alignment = 128;
  file.data_bytes = 160;
  RecordingSink sink;
  const auto read = read_file("aligned.gguf", file.done(), {5, true}, &sink);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(sink.tensors.at("b").bytes[0], std::byte{128});
}

/// b, of 32 bytes, ends 32 bytes short of its alignment; extra bytes follow.
GgufWriter with_bytes_at_the_end(std::size_t extra) {
  GgufWriter file;
  file.key("general.alignment", kU32, 64U);
  file.tensor("a", kDims, kTensorF32, 0).tensor("b", kDims, kTensorF32, 64);
  file.alignment = 64;
  file.data_bytes = 96 + extra;
  return file;
}

TEST(Gguf, TakesTheLastTensorsPaddingWholePartlyOrLeftOut) {
  for (const std::size_t padding : {0U, 1U, 31U, 32U}) {
    for (const Delivery& delivery : deliveries()) {
      RecordingSink sink;
      const auto read = read_file("padded.gguf", with_bytes_at_the_end(padding).done(), delivery, &sink);
      EXPECT_TRUE(read.has_value()) << padding << ": " << read.error().message;
    }
  }
}

TEST(GgufLies, InBytesAfterTheLastTensor) {
  expect_refused(with_bytes_at_the_end(33), ErrorCode::kBadOffset,
                 "33 bytes after the last tensor \"b\" belong to none, expected at most 32 of padding");
  GgufWriter full = sound();  // ends on its alignment
  full.data_bytes = 65;
  expect_refused(full, ErrorCode::kBadOffset, "1 bytes after the last tensor \"b\" belong to none, expected no byte");
  EXPECT_EQ(refusal(full.done()).offset, full.done().size() - 1);
  GgufWriter empty;
  empty.data_bytes = 8;
  expect_refused(empty, ErrorCode::kBadOffset, "8 bytes after the header belong to none");
}

TEST(GgufLies, InOffsets) {
  const auto with_offsets = [](std::uint64_t first, std::uint64_t second) {
    GgufWriter file;
    file.tensor("a", kDims, kTensorF32, first).tensor("b", kDims, kTensorF32, second);
    file.data_bytes = 64;
    return file;
  };
  expect_refused(with_offsets(0, 0), ErrorCode::kBadOffset, "overlaps");
  expect_refused(with_offsets(0, 33), ErrorCode::kBadOffset, "\"b\": offset 33 is no multiple of the alignment 32");
  expect_refused(with_offsets(0, 64), ErrorCode::kBadOffset, "\"b\": data begins 32 bytes after");
  expect_refused(with_offsets(0, 1ULL << 40), ErrorCode::kBadOffset, "\"b\"");
  expect_refused(with_offsets(0, 0ULL - 32), ErrorCode::kBadOffset, "\"b\"");
  expect_refused(with_offsets(32, 64), ErrorCode::kBadOffset, "\"a\": data begins 32 bytes after");
}

TEST(GgufLies, InStringsAndArrays) {
  GgufWriter long_key;  // 2^30 in a file of some 160 bytes
  long_key.n_key_values = 1;
  long_key.key_values.number(std::uint64_t{1} << 30).zeros(100);
  expect_refused(long_key, ErrorCode::kBadHeader, "a key: length 1073741824");

  GgufWriter long_value;
  long_value.n_key_values = 1;
  gguf_string(long_value.key_values, "k").number(8U).number(std::uint64_t{1} << 62);
  expect_refused(long_value, ErrorCode::kBadHeader, "key \"k\": length");

  GgufWriter cut_value;  // plausible, but not there
  cut_value.n_key_values = 1;
  gguf_string(cut_value.key_values, "k").number(8U).number(std::uint64_t{100'000});
  expect_refused(cut_value, ErrorCode::kTruncated, "");

  const auto with_array = [](std::string_view key, std::uint32_t type, std::uint64_t n) {
    GgufWriter file;
    file.n_key_values = 1;
    gguf_string(file.key_values, key).number(9U).number(type).number(n);
    return file;
  };
  expect_refused(with_array("k", 9, 1), ErrorCode::kBadHeader, "key \"k\": element type 9");
  expect_refused(with_array("k", 13, 1), ErrorCode::kBadHeader, "key \"k\": element type 13");
  expect_refused(with_array("k", 4, 1ULL << 61), ErrorCode::kBadHeader, "key \"k\": element count");
  expect_refused(with_array("tokenizer.ggml.tokens", 4, 0), ErrorCode::kBadHeader, "expected 8 (string)");
  expect_refused(with_array("tokenizer.ggml.token_type", 8, 0), ErrorCode::kBadHeader, "expected 5 (i32)");
  expect_refused(with_array("tokenizer.ggml.merges", 8, 1000), ErrorCode::kTruncated, "tokenizer.ggml.merges");
}

TEST(GgufLies, InNamesAndKinds) {
  GgufWriter twice = sound();
  twice.tensor("a", kDims, kTensorF32, 64);
  twice.data_bytes = 96;
  expect_refused(twice, ErrorCode::kDuplicateTensor, "\"a\": stands twice");

  GgufWriter key_twice = sound();
  key_twice.key("general.architecture", "llama");
  expect_refused(key_twice, ErrorCode::kBadHeader, "\"general.architecture\" stands twice");

  GgufWriter type13 = sound();
  type13.key("k", 13, 0U);
  expect_refused(type13, ErrorCode::kBadHeader, "key \"k\": value type 13");

  GgufWriter big_endian = sound();
  big_endian.version = 0x03000000;
  expect_refused(big_endian, ErrorCode::kUnsupportedVersion, "big-endian");

  GgufWriter version1 = sound();
  version1.version = 1;
  expect_refused(version1, ErrorCode::kUnsupportedVersion, "GGUF version 1");

  GgufWriter types = sound();
  types.key("tokenizer.ggml.model", "gpt2");
  ++types.n_key_values;
  gguf_string(types.key_values, "tokenizer.ggml.token_type").number(9U).number(kI32).number(std::uint64_t{1}).number(1);
  expect_refused(types, ErrorCode::kBadHeader, "token_type: 1 entries for 0 tokens");
}

TEST(GgufLies, AnyCutIsTruncated) {
  const std::vector<std::byte> whole = sound().done();
  for (std::size_t n = 0; n < whole.size(); ++n) {
    RecordingSink sink;
    const auto read = read_file("cut.gguf", std::span(whole).first(n), {1, false}, &sink);
    ASSERT_FALSE(read.has_value()) << n;
    EXPECT_EQ(error_code_name(read.error().code), n < 4 && n > 0 ? "bad_magic" : "truncated") << n;
  }
}

}  // namespace
}  // namespace lookback::test
