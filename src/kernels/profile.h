// Profile: where the time of a pass goes. The caller of the kernels marks each op; without a profile nothing is timed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lookback::kernels {

/// The lines of a profile, in the order of the pass.
enum class Op { kEmbed, kNorm, kQkv, kRope, kAttention, kOutProj, kGateUp, kSilu, kDown, kLogits, kOther };
inline constexpr std::size_t kOpCount = 11;
inline constexpr std::array<const char*, kOpCount> kOpNames = {
    "embed", "norm", "qkv", "rope", "attention", "o_proj", "gate_up", "silu", "down", "logits", "other"};

struct Profile {
  double (*now_ms)() = nullptr;  ///< a clock handed in, so that kernels need none
  std::array<double, kOpCount> ms{};
  std::array<std::uint64_t, kOpCount> calls{};
};

/// Adds the time from its construction to its end to one line; does nothing when profile is null.
class ProfileScope {
 public:
  ProfileScope(Profile* profile, Op op) : profile_(profile), op_(static_cast<std::size_t>(op)) {
    if (profile_ != nullptr) start_ms_ = profile_->now_ms();
  }
  ~ProfileScope() {
    if (profile_ == nullptr) return;
    profile_->ms[op_] += profile_->now_ms() - start_ms_;
    ++profile_->calls[op_];
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  Profile* profile_;
  std::size_t op_;
  double start_ms_ = 0;
};

}  // namespace lookback::kernels
