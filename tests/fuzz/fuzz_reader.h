// fuzz_reader: any bytes as a weights file. What must hold whatever they are is CHECKed.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lookback::test {

/// Reads the bytes whole and again in pieces, and checks that
/// - both ways come to the same: accepted or refused (with the same word), the same tensors, the same data;
/// - a tensor that ends has all its bytes, and a file that is accepted has all its tensors;
/// - a refusal has a message that names the file;
/// - memory stays below 1 MB + 64 bytes per byte received.
void fuzz_reader(const std::string& name, std::span<const std::byte> bytes);

}  // namespace lookback::test
