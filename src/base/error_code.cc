#include <iterator>

#include "lookback/result.h"

namespace lookback {
namespace {

// In the order of ErrorCode.
constexpr std::string_view kNames[] = {
    "truncated",      "bad_magic",        "unsupported_version", "unsupported_dtype", "unsupported_architecture",
    "bad_header",     "missing_metadata", "bad_config",          "missing_tensor",    "duplicate_tensor",
    "shape_mismatch", "bad_offset",       "non_finite",          "out_of_memory",     "context_full",
    "bad_token",      "empty_prompt",     "bad_argument",        "wrong_state"};
static_assert(std::size(kNames) == static_cast<std::size_t>(ErrorCode::kWrongState) + 1);

}  // namespace

std::string_view error_code_name(ErrorCode code) { return kNames[static_cast<std::size_t>(code)]; }

}  // namespace lookback
