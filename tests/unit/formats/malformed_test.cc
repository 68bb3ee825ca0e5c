// Every broken file of tests/data/reference/malformed, however it arrives: refused with the right word, or passed on where only
// the model layer can see the fault.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/support/recording_sink.h"
#include "tests/support/test_files.h"
#include "tests/unit/formats/read_file.h"

namespace lookback::test {
namespace {

const std::string kFolder = "tests/data/reference/malformed/";

struct Refused {
  std::string file;
  ErrorCode code;
  std::string says;  // a part of the message that names the field
};

const Refused kRefused[] = {
    {"gguf_empty.gguf", ErrorCode::kTruncated, "empty"},
    {"gguf_magic.gguf", ErrorCode::kBadMagic, "GGUX"},
    {"gguf_header_only.gguf", ErrorCode::kTruncated, "the file ends"},
    {"gguf_truncated_header.gguf", ErrorCode::kTruncated, "tokenizer.ggml.tokens"},
    {"gguf_truncated_data.gguf", ErrorCode::kTruncated, "blk.0."},
    {"gguf_version99.gguf", ErrorCode::kUnsupportedVersion, "version 99"},
    {"gguf_offset_past_end.gguf", ErrorCode::kBadOffset, "blk.0.attn_v.weight\": data begins 1099511598400 bytes"},
    {"gguf_huge_tensor_count.gguf", ErrorCode::kBadHeader, "tensor count 4611686018427387904"},
    {"gguf_huge_kv_count.gguf", ErrorCode::kBadHeader, "key/value count 9223372036854775813"},
    {"gguf_huge_string.gguf", ErrorCode::kBadHeader, "length 1152921504606846976"},
    {"gguf_dims_overflow.gguf", ErrorCode::kBadHeader, "attn_q.weight\": shape [8589934592, 8589934592]"},
    {"gguf_dims_negative.gguf", ErrorCode::kBadHeader, "attn_q.weight\": shape [18446744073709551584, 32]"},
    {"gguf_unknown_type.gguf", ErrorCode::kUnsupportedDtype, "attn_q.weight\": type 250"},
    {"gguf_duplicate_tensor.gguf", ErrorCode::kDuplicateTensor, "stands twice"},
    {"gguf_quant_row.gguf", ErrorCode::kBadHeader, "rows of 20"},
    {"st_empty.safetensors", ErrorCode::kTruncated, "empty"},
    {"st_header_2e60.safetensors", ErrorCode::kBadHeader, "header length 1152921504606846976"},
    {"st_nonjson.safetensors", ErrorCode::kBadHeader, "not JSON"},
    {"st_truncated.safetensors", ErrorCode::kTruncated, "model.layers.0."},
    {"st_overlap.safetensors", ErrorCode::kBadOffset, "overlaps"},
    {"st_offsets_reversed.safetensors", ErrorCode::kBadOffset, "end before they begin"},
    {"st_dtype_size.safetensors", ErrorCode::kBadHeader, "q_proj.weight\": F32 [32, 32] needs 4096 bytes"},
    {"st_duplicate_name.safetensors", ErrorCode::kDuplicateTensor, "q_proj.weight\" stands twice"},
    {"st_missing_tensor.safetensors", ErrorCode::kBadOffset, "v_proj.weight\": data begins 1024 bytes after"},
    {"onnx_truncated.onnx", ErrorCode::kTruncated, "protobuf field"},
    {"onnx_rawdata_short.onnx", ErrorCode::kBadHeader, "raw_data holds"},
};

// Sound as files; src/model refuses them, and its tests hold it to that.
const char* const kForTheModel[] = {
    "gguf_missing_tensor.gguf",   // missing_tensor
    "gguf_wrong_shape.gguf",      // shape_mismatch
    "gguf_nan_weights.gguf",      // non_finite
    "gguf_missing_key.gguf",      // missing_metadata
    "gguf_wrong_arch.gguf",       // unsupported_architecture
    "gguf_heads_zero.gguf",       // bad_config
    "st_wrong_shape.safetensors"  // shape_mismatch
};

// Nor weights: onnx_external_missing needs a file that is not there (see onnx_test.cc); cfg_* are the model's, tok_* the page's.
const char* const kElsewhere[] = {"onnx_external_missing.onnx", "cfg_heads_mismatch.json", "tok_merge_unknown.json",
                                  "tok_not_json.json"};

TEST(MalformedFiles, AreRefusedHoweverTheyArrive) {
  for (const Refused& expected : kRefused) {
    const auto bytes = read_bytes(kFolder + expected.file);
    for (const Delivery& delivery : deliveries()) {
      SCOPED_TRACE(expected.file + ", pieces of " + std::to_string(delivery.piece) +
                   (delivery.size_known ? ", size known" : ", size unknown"));
      RecordingSink sink;
      const auto read = read_file(expected.file, bytes, delivery, &sink);
      ASSERT_FALSE(read.has_value());
      const Error& error = read.error();
      EXPECT_EQ(error_code_name(error.code), error_code_name(expected.code)) << error.message;
      EXPECT_TRUE(error.message.starts_with(expected.file + ": ")) << error.message;
      EXPECT_NE(error.message.find(expected.says), std::string::npos) << error.message;
      EXPECT_TRUE(error.offset.has_value()) << error.message;
    }
  }
}

TEST(MalformedFiles, WithAFaultOfTheModelAreReadWhole) {
  for (const std::string file : kForTheModel) {
    const auto bytes = read_bytes(kFolder + file);
    for (const Delivery& delivery : deliveries()) {
      SCOPED_TRACE(file + ", pieces of " + std::to_string(delivery.piece));
      RecordingSink sink;
      const auto read = read_file(file, bytes, delivery, &sink);
      ASSERT_TRUE(read.has_value()) << read.error().message;
      EXPECT_EQ(sink.tensors.size(), sink.directory->size());
    }
  }
}

TEST(MalformedFiles, AreAllInOneOfTheTables) {
  std::map<std::string, int> n_tables;
  for (const Refused& expected : kRefused) ++n_tables[expected.file];
  for (const char* file : kForTheModel) ++n_tables[file];
  for (const char* file : kElsewhere) ++n_tables[file];
  const nlohmann::json cases = read_json(kFolder + "cases.json");
  EXPECT_EQ(cases["cases"].size(), n_tables.size());
  for (const auto& item : cases["cases"]) {
    const auto file = item["file"].get<std::string>();
    EXPECT_EQ(n_tables[file], 1) << file;
  }
}

TEST(SoundFiles, AreRead) {
  for (const std::string file : {"ok.gguf", "ok.safetensors", "ok.onnx"}) {
    const auto bytes = read_bytes(kFolder + file);
    for (const Delivery& delivery : deliveries()) {
      SCOPED_TRACE(file + ", pieces of " + std::to_string(delivery.piece));
      RecordingSink sink;
      const auto read = read_file(file, bytes, delivery, &sink);
      ASSERT_TRUE(read.has_value()) << read.error().message;
      EXPECT_TRUE((*read)->header_complete());
      EXPECT_EQ(sink.n_metadata, 1);
      EXPECT_EQ(sink.directory->size(), (*read)->tensors().size());
      EXPECT_EQ(sink.tensors.size(), sink.directory->size());
      EXPECT_GE(sink.tensors.size(), 11U);
    }
  }
}

}  // namespace
}  // namespace lookback::test
