// base: what every layer needs and no library gives. Owns: checks, buffers, byte reading, 16-bit floats, threads. May touch:
// include/lookback/result.h. Start reading here.
// CHECK: our own bugs stop the program with a message. Data from outside never reaches a CHECK: it gets a Result.
#pragma once

namespace lookback::base {

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* message);

}  // namespace lookback::base

#define CHECK(condition, message)                                                \
  do {                                                                           \
    if (!(condition)) {                                                          \
      ::lookback::base::check_failed(__FILE__, __LINE__, #condition, (message)); \
    }                                                                            \
  } while (false)
