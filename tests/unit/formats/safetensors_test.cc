#include "formats/safetensors.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/byte_writer.h"
#include "tests/support/recording_sink.h"
#include "tests/unit/formats/read_file.h"

namespace lookback::test {
namespace {

/// The error, the same however the file arrives.
Error refusal(const std::vector<std::byte>& bytes) {
  std::optional<Error> first;
  for (const Delivery& delivery : deliveries()) {
    RecordingSink sink;
    const auto read = read_file("lie.safetensors", bytes, delivery, &sink);
    EXPECT_FALSE(read.has_value()) << "pieces of " << delivery.piece << (delivery.size_known ? ", size known" : "");
    if (read) continue;
    if (!first) first = read.error();
    EXPECT_EQ(error_code_name(read.error().code), error_code_name(first->code)) << read.error().message;
  }
  return first.value_or(Error{ErrorCode::kWrongState, "nothing was refused", std::nullopt});
}

void expect_refused(std::string_view header, std::size_t data_bytes, ErrorCode code, const std::string& says) {
  const Error error = refusal(safetensors_file(header, data_bytes));
  EXPECT_EQ(error_code_name(error.code), error_code_name(code)) << header << "\n" << error.message;
  EXPECT_NE(error.message.find(says), std::string::npos) << header << "\n" << error.message;
  EXPECT_TRUE(error.offset.has_value()) << error.message;
}

TEST(Safetensors, ReadsTensorsInAnyOrderAndSkipsMetadata) {
  const auto bytes = safetensors_file(
      R"({"b":{"shape":[2],"data_offsets":[8,12],"dtype":"BF16"},"__metadata__":{"format":"pt"},)"
      R"("a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"c":{"dtype":"F16","shape":[],"data_offsets":[12,14]}}   )",
      14);
  for (const Delivery& delivery : deliveries()) {
    RecordingSink sink;
    const auto read = read_file("sound.safetensors", bytes, delivery, &sink);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    ASSERT_EQ(sink.directory->size(), 3U);
    EXPECT_EQ((*sink.directory)[0].name, "a");
    EXPECT_EQ((*sink.directory)[1].dtype, quant::DType::kBF16);
    EXPECT_TRUE((*sink.directory)[2].shape.empty());
    EXPECT_EQ(sink.tensors.size(), 3U);
  }
}

// Another reader treated headers of 100,000 bytes and more as lies; the format's limit is 100,000,000.
TEST(Safetensors, ReadsHeadersAround100000Bytes) {
  for (const std::size_t n : {99'999U, 100'000U, 100'001U, 1'000'000U}) {
    std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    header.resize(n, ' ');
    RecordingSink sink;
    EXPECT_TRUE(read_file("padded.safetensors", safetensors_file(header, 4), {4096, true}, &sink).has_value()) << n;
  }
}

TEST(SafetensorsLies, InTheLength) {
  for (const std::uint64_t n :
       {~std::uint64_t{0}, std::uint64_t{1} << 60, std::uint64_t{100'000'001}, std::uint64_t{0}}) {
    const Error error = refusal(ByteWriter().number(n).text("{}").zeros(100).done());
    EXPECT_EQ(error_code_name(error.code), "bad_header");
    EXPECT_NE(error.message.find("header length " + std::to_string(n)), std::string::npos) << error.message;
    EXPECT_EQ(error.offset, 0U);
  }
  EXPECT_EQ(refusal(ByteWriter().number(std::uint64_t{1000}).text("{}").zeros(100).done()).code, ErrorCode::kTruncated);
}

TEST(SafetensorsLies, InTheJson) {
  expect_refused("{\"a\":", 0, ErrorCode::kBadHeader, "not JSON");
  expect_refused("[]", 0, ErrorCode::kBadHeader, "expected an object");
  expect_refused("{\"a\":\"\xFF\"}", 0, ErrorCode::kBadHeader, "not JSON");
  expect_refused(R"({}{})", 0, ErrorCode::kBadHeader, "not JSON");
  expect_refused(R"({"a":1})", 0, ErrorCode::kBadHeader, "\"a\"");
  expect_refused(R"({"a":null})", 0, ErrorCode::kBadHeader, "\"a\"");
  expect_refused(R"({"a":{}})", 0, ErrorCode::kBadHeader, "dtype is absent");
  expect_refused(R"({"a":{"dtype":"F32"}})", 0, ErrorCode::kBadHeader, "shape is absent");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1]}})", 4, ErrorCode::kBadHeader, "data_offsets is absent");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4, ErrorCode::kBadHeader, "has 1 numbers");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"strides":[1]}})", 4, ErrorCode::kBadHeader,
                 "\"strides\"");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"shape":[1]}})", 4, ErrorCode::kBadHeader,
                 "shape stands twice");
  expect_refused(R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4, ErrorCode::kBadHeader,
                 "shape: an array");
  expect_refused(R"({"a":{"dtype":[1],"shape":[1],"data_offsets":[0,4]}})", 4, ErrorCode::kBadHeader,
                 "dtype: an array");
  expect_refused(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, ErrorCode::kBadHeader, "below 0");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4, ErrorCode::kBadHeader,
                 "shape: a number");
  expect_refused(R"({"a":{"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,4]}})", 4,
                 ErrorCode::kBadHeader, "shape: a number");
  expect_refused(R"({"__metadata__":{"format":{}}})", 0, ErrorCode::kBadHeader, "__metadata__");
  expect_refused(R"({"__metadata__":{"format":1}})", 0, ErrorCode::kBadHeader, "__metadata__");
  expect_refused(R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})", 8, ErrorCode::kUnsupportedDtype,
                 "\"F64\"");
  expect_refused(
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      8, ErrorCode::kDuplicateTensor, "\"a\" stands twice");
}

TEST(SafetensorsLies, InShapesAndSpans) {
  expect_refused(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", 0, ErrorCode::kBadHeader,
                 "dimension of 0");
  expect_refused(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", 4,
                 ErrorCode::kBadHeader, "overflows");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4, ErrorCode::kBadHeader,
                 "shape has more than 8");
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, ErrorCode::kBadHeader,
                 "F32 [2] needs 8 bytes, data_offsets [0, 4] span 4");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, ErrorCode::kBadOffset,
                 "end before they begin");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8, ErrorCode::kBadOffset,
                 "begins 4 bytes after");
  expect_refused(
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
      6, ErrorCode::kBadOffset, "overlaps");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5, ErrorCode::kBadOffset,
                 "1 bytes after the last tensor");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3, ErrorCode::kTruncated, "\"a\"");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551608,18446744073709551612]}})", 4,
                 ErrorCode::kBadOffset, "\"a\"");
}

TEST(SafetensorsLies, ErrorsInTheJsonSayWhere) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":7})";
  const Error error = refusal(safetensors_file(header, 4));
  ASSERT_TRUE(error.offset.has_value());
  const std::size_t at = 8 + header.find('7');
  EXPECT_GE(*error.offset, at);
  EXPECT_LE(*error.offset, at + 2);  // the parser has looked at the next character
}

}  // namespace
}  // namespace lookback::test
