// Any text as a config.json: an answer or an error, and memory in proportion.
#include <cstddef>
#include <string_view>

#include "base/check.h"
#include "model/model_config.h"
#include "tests/support/allocation_meter.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t n) {
  using lookback::model::check_config;
  const lookback::test::AllocationMeter meter;
  const auto config = lookback::model::config_from_json({reinterpret_cast<const char*>(data), n});
  if (config) {
    const auto checked = check_config(*config);
    CHECK(!checked || (config->n_kv_head > 0 && config->n_head % config->n_kv_head == 0), "heads in whole groups");
    CHECK(!checked || (config->rope_base > 0 && config->rms_eps > 0), "a base and an eps to divide by");
  } else {
    CHECK(!config.error().message.empty(), "a refusal says what is wrong");
  }
  CHECK(meter.peak_bytes() <= 100'000 + 64 * n, "memory grows only with bytes received");
  return 0;
}
