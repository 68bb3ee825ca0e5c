// Result<T>: a value or an Error, for everything that depends on data or requests from outside.
// Our own mistakes are CHECKed instead (src/base/check.h). Method names are std::expected's (C++23), so a swap is an alias.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace lookback {

/// Stable words; `error_code_name` gives the spelling that crosses the border (web/engine/protocol.js holds the same list).
enum class ErrorCode {
  kTruncated,                ///< the bytes end before the structure does
  kBadMagic,                 ///< no known weights format
  kUnsupportedVersion,       ///< a known format in a version that is not read here
  kUnsupportedDtype,         ///< a tensor type that is not read here
  kUnsupportedArchitecture,  ///< not a Llama-architecture model
  kBadHeader,                ///< a header field that cannot be true
  kMissingMetadata,          ///< a required metadata key is absent
  kBadConfig,                ///< hyperparameters that contradict one another or the tensors
  kMissingTensor,            ///< the architecture needs a tensor that the file does not hold
  kDuplicateTensor,          ///< two tensors carry one name
  kShapeMismatch,            ///< a tensor's shape is not what the configuration implies
  kBadOffset,                ///< tensor data outside the file, overlapping, or with holes
  kNonFinite,                ///< NaN or infinity in weights or in a pass
  kOutOfMemory,              ///< an allocation was refused
  kContextFull,              ///< more positions than the model's context
  kBadToken,                 ///< a token id outside the vocabulary
  kEmptyPrompt,              ///< no tokens to run
  kBadArgument,              ///< an index or option out of range
  kWrongState,               ///< a call that this state does not allow (weights not open, pass disposed)
};

/// The word for a code, e.g. "truncated".
std::string_view error_code_name(ErrorCode code);

struct Error {
  ErrorCode code;
  std::string message;                  ///< one sentence: what, where, what was expected
  std::optional<std::uint64_t> offset;  ///< byte position in the file, where there is one
};

/// Result<void>'s value.
struct Unit {};

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = std::conditional_t<std::is_void_v<T>, Unit, T>;

  Result()
    requires std::is_void_v<T>
      : state_(Unit{}) {}
  Result(value_type value)
    requires(!std::is_void_v<T>)
      : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  /// The value; the program stops when there is none, so test first.
  value_type& value() & { return *get(); }
  const value_type& value() const& { return *const_cast<Result*>(this)->get(); }
  value_type&& value() && { return std::move(*get()); }
  value_type& operator*() & { return *get(); }
  const value_type& operator*() const& { return *const_cast<Result*>(this)->get(); }
  value_type&& operator*() && { return std::move(*get()); }
  value_type* operator->() { return get(); }
  const value_type* operator->() const { return const_cast<Result*>(this)->get(); }

  const Error& error() const {
    if (has_value()) std::abort();
    return *std::get_if<1>(&state_);
  }

 private:
  value_type* get() {
    value_type* value = std::get_if<0>(&state_);
    if (value == nullptr) std::abort();
    return value;
  }

  std::variant<value_type, Error> state_;
};

}  // namespace lookback

/// Returns the error of a Result expression to the caller, who must return a Result too.
#define LOOKBACK_TRY(expression)                                       \
  do {                                                                 \
    if (auto lookback_try = (expression); !lookback_try.has_value()) { \
      return lookback_try.error();                                     \
    }                                                                  \
  } while (false)
