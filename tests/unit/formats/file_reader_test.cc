#include "formats/file_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "formats/recognise.h"
#include "tests/support/allocation_meter.h"
#include "tests/support/byte_writer.h"
#include "tests/support/recording_sink.h"
#include "tests/support/test_files.h"
#include "tests/unit/formats/read_file.h"

namespace lookback::test {
namespace {

const std::string kFolder = "tests/data/reference/malformed/";

void expect_bad_magic(const std::string& name, std::string_view content, const std::string& says) {
  const auto bytes = ByteWriter().text(content).done();
  for (const Delivery& delivery : deliveries()) {
    RecordingSink sink;
    const auto read = read_file(name, bytes, delivery, &sink);
    ASSERT_FALSE(read.has_value()) << name;
    EXPECT_EQ(error_code_name(read.error().code), "bad_magic") << read.error().message;
    EXPECT_NE(read.error().message.find(says), std::string::npos) << read.error().message;
  }
}

TEST(FileReader, SaysWhatCameInPlaceOfAModel) {
  for (const std::string name : {"model.gguf", "model.safetensors", "model.onnx", "model"}) {
    expect_bad_magic(name, "<!DOCTYPE html>\n<html><head><title>404</title></head></html>", "web page");
    expect_bad_magic(name, "\n  <html lang=\"en\">" + std::string(2000, ' '), "web page");
    expect_bad_magic(name, "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 98362432\n",
                     "git-lfs pointer");
    expect_bad_magic(name, R"({"error":"Repository not found"})", "JSON");
    expect_bad_magic(name, R"({"error":"Repository not found"})", "Repository not found");
    expect_bad_magic(name, "Not Found", "text");
  }
  expect_bad_magic("model.gguf", std::string("GGUX\x03\0\0\0\0", 9), "GGUX");
  expect_bad_magic("model.gguf", std::string("\x1f\x8b\x08\0\0\0\0\0\0\0", 10), "gzip");
  expect_bad_magic("model", std::string("PK\x03\x04\0\0\0\0\0\0", 10), "zip archive");
  expect_bad_magic("model.onnx", std::string("\xFF\xFE\0\0\0\0\0\0\0\0", 10), "\\xff\\xfe");
}

TEST(FileReader, RecognisesWithoutAnExtension) {
  for (const std::string file : {"ok.gguf", "ok.safetensors", "ok.onnx"}) {
    for (const std::string name : {"", "blob", "shard-00001-of-00002.bin", "UPPER.BIN"}) {
      RecordingSink sink;
      const auto read = read_file(name, read_bytes(kFolder + file), {3, true}, &sink);
      ASSERT_TRUE(read.has_value()) << read.error().message;
      EXPECT_EQ("ok." + std::string(formats::format_name(*(*read)->format())), file);
    }
  }
}

TEST(FileReader, IsDeadAfterAnError) {
  RecordingSink sink;
  auto reader = formats::FileReader::create("x.gguf", std::nullopt, &sink);
  ASSERT_TRUE(reader.has_value());
  const auto first = (*reader)->feed(ByteWriter().text("GGUF").number(99U).number(0ULL).number(0ULL).done());
  ASSERT_FALSE(first.has_value());
  const auto second = (*reader)->feed(read_bytes(kFolder + "ok.gguf"));
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().message, first.error().message);
  EXPECT_EQ((*reader)->finish().error().message, first.error().message);
  EXPECT_FALSE((*reader)->header_complete());
}

TEST(FileReader, HandsOnTheSinksError) {
  for (const std::string file : {"ok.gguf", "ok.safetensors", "ok.onnx"}) {
    RecordingSink sink;
    sink.fail_at = file == "ok.gguf" ? "blk.0.attn_norm.weight" : "model.layers.0.input_layernorm.weight";
    const auto read = read_file(file, read_bytes(kFolder + file), {100, true}, &sink);
    ASSERT_FALSE(read.has_value()) << file;
    EXPECT_EQ(read.error().message, "the sink's own error");
  }
}

TEST(FileReader, HoldsTheFileToItsAnnouncedSize) {
  const auto bytes = read_bytes(kFolder + "ok.gguf");
  RecordingSink sink;
  auto longer = formats::FileReader::create("ok.gguf", bytes.size() - 1, &sink);
  ASSERT_TRUE(longer.has_value());
  EXPECT_FALSE((*longer)->feed(bytes).has_value());
  RecordingSink other;
  const auto graph = read_bytes(kFolder + "ok.onnx");  // a format that cannot tell from its header
  auto shorter = formats::FileReader::create("ok.onnx", graph.size() + 1000, &other);
  ASSERT_TRUE(shorter.has_value());
  ASSERT_TRUE((*shorter)->feed(graph).has_value());
  const auto finished = (*shorter)->finish();
  ASSERT_FALSE(finished.has_value());
  EXPECT_EQ(finished.error().code, ErrorCode::kTruncated);
}

TEST(FileReader, KnowsTheHeaderBeforeTheData) {
  for (const std::string file : {"ok.gguf", "ok.safetensors"}) {
    const auto bytes = read_bytes(kFolder + file);
    RecordingSink sink;
    auto reader = formats::FileReader::create(file, bytes.size(), &sink);
    ASSERT_TRUE(reader.has_value());
    std::size_t n = 0;
    while (n < bytes.size() && !(*reader)->header_complete()) {
      ASSERT_TRUE((*reader)->feed(std::span(bytes).subspan(n++, 1)).has_value());
    }
    EXPECT_LT(n, 12'000U) << file;
    EXPECT_TRUE(sink.tensors.empty());
    EXPECT_EQ(sink.directory->size(), (*reader)->tensors().size());
  }
}

// The fuzzers start from these: refused, they would lead nowhere. tests/fuzz/make_seeds.cc writes them.
TEST(FuzzSeeds, AreSoundFiles) {
  for (const std::string format : {"gguf", "safetensors", "onnx"}) {
    RecordingSink sink;
    const auto read =
        read_file("seed", read_bytes("tests/fuzz/corpus/" + format + "/seed_all_kinds"), {5, true}, &sink);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(formats::format_name(*(*read)->format()), format);
    EXPECT_GE(sink.tensors.size(), 2U);
  }
}

TEST(FileReader, ALieCostsLittleMemory) {
  const nlohmann::json cases = read_json(kFolder + "cases.json");
  for (const auto& item : cases["cases"]) {
    const std::string file = item["file"];
    if (file.ends_with(".json")) continue;
    const auto bytes = read_bytes(kFolder + file);
    for (const Delivery& delivery : deliveries()) {
      class Ignore final : public formats::TensorSink {
        Result<void> on_metadata(const formats::Metadata&) override { return {}; }
        Result<void> on_directory(std::span<const formats::TensorInfo>) override { return {}; }
        Result<void> begin_tensor(const formats::TensorInfo&) override { return {}; }
        Result<void> tensor_bytes(std::span<const std::byte>) override { return {}; }
        Result<void> end_tensor() override { return {}; }
      } sink;
      const AllocationMeter meter;
      const auto read = read_file(file, bytes, delivery, &sink);
      EXPECT_LT(meter.peak_bytes(), 300'000U) << file << ", pieces of " << delivery.piece;
    }
  }
}

}  // namespace
}  // namespace lookback::test
