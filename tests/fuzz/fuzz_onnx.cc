#include "tests/fuzz/fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t n) {
  lookback::test::fuzz_reader("fuzz.onnx", std::as_bytes(std::span(data, n)));
  return 0;
}
