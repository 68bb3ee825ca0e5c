// AllocationMeter: how much memory operator new has given out, for tests that bound it. Link allocation_meter.cc.
#pragma once

#include <cstddef>

namespace lookback::test {

/// Measures from its making on, over the whole process; one at a time.
class AllocationMeter {
 public:
  AllocationMeter();
  /// The most bytes held at once above what was held at the start.
  std::size_t peak_bytes() const;

 private:
  std::size_t start_;
};

}  // namespace lookback::test
