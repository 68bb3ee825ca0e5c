// Any bytes as a GGUF for the whole engine: refused somewhere on the way, or a pass with finite numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/check.h"
#include "lookback/engine.h"

namespace lookback {
namespace {

Result<std::unique_ptr<Pass>> load_and_run(std::span<const unsigned char> bytes) {
  auto engine = Engine::create({});
  if (!engine) return engine.error();
  LOOKBACK_TRY((*engine)->begin_file({.name = "fuzz.gguf", .n_bytes = bytes.size()}));
  auto chunk = (*engine)->chunk(bytes.size());
  if (!chunk) return chunk.error();
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<unsigned char*>(chunk->data()));
  LOOKBACK_TRY((*engine)->commit(bytes.size()));
  LOOKBACK_TRY((*engine)->end_file());
  LOOKBACK_TRY((*engine)->directory());
  LOOKBACK_TRY((*engine)->tokenizer());
  LOOKBACK_TRY((*engine)->open());
  auto pass = (*engine)->create_pass({});
  if (!pass) return pass.error();
  LOOKBACK_TRY((*pass)->begin(std::array<TokenId, 3>{0, 1, 1}));
  while (true) {
    const auto status = (*pass)->step();
    if (!status) return status.error();
    if (status->done) return pass;
  }
}

}  // namespace
}  // namespace lookback

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t n) {
  const auto pass = lookback::load_and_run({data, n});
  if (!pass) {
    CHECK(!pass.error().message.empty(), "a refusal says what is wrong");
    return 0;
  }
  const auto logits = (*pass)->logits((*pass)->length() - 1);
  CHECK(!logits || std::ranges::all_of(logits->span(), [](float x) { return std::isfinite(x); }),
        "finite logits, or an error");
  const auto row = (*pass)->row(0, 0, (*pass)->length() - 1);
  CHECK(row.has_value(), "a pass that is done can be read");
  return 0;
}
