#include "quant/dtype.h"

#include "base/check.h"

namespace lookback::quant {
namespace {

struct DTypeTraits {
  std::string_view name;
  std::uint32_t block_size;
  std::uint32_t block_bytes;
};

// In the order of DType. Source: ggml-common.h (block_q8_0 …), QK_K = 256.
constexpr DTypeTraits kTraits[] = {{"F32", 1, 4},      {"F16", 1, 2},      {"BF16", 1, 2},    {"Q8_0", 32, 34},
                                   {"Q4_0", 32, 18},   {"Q4_1", 32, 20},   {"Q5_0", 32, 22},  {"Q5_1", 32, 24},
                                   {"Q4_K", 256, 144}, {"Q5_K", 256, 176}, {"Q6_K", 256, 210}};

constexpr const DTypeTraits& traits(DType dtype) { return kTraits[static_cast<int>(dtype)]; }

}  // namespace

std::string_view dtype_name(DType dtype) { return traits(dtype).name; }

std::uint32_t block_size(DType dtype) { return traits(dtype).block_size; }

std::uint32_t block_bytes(DType dtype) { return traits(dtype).block_bytes; }

std::uint64_t row_bytes(DType dtype, std::uint64_t n_cols) {
  CHECK(n_cols % block_size(dtype) == 0, "a row is whole blocks");
  return n_cols / block_size(dtype) * block_bytes(dtype);
}

}  // namespace lookback::quant
