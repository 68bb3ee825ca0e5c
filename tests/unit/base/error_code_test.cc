// The words of ErrorCode against the page's list.
#include <gtest/gtest.h>

#include <string>

#include "lookback/result.h"
#include "tests/support/test_files.h"

namespace lookback::test {
namespace {

TEST(ErrorCode, WordsAreTheListOfProtocolJsInItsOrder) {
  const std::string protocol = read_text("web/engine/protocol.js");
  const std::size_t begin = protocol.find("ENGINE_ERRORS = Object.freeze([");
  ASSERT_NE(begin, std::string::npos);
  const std::string list = protocol.substr(begin, protocol.find(']', protocol.find('[', begin)) - begin);
  std::string expected = "ENGINE_ERRORS = Object.freeze([";
  for (int code = 0; code <= static_cast<int>(ErrorCode::kWrongState); ++code) {
    expected += "\n  '" + std::string(error_code_name(static_cast<ErrorCode>(code))) + "',";
  }
  EXPECT_EQ(list, expected + "\n");
}

}  // namespace
}  // namespace lookback::test
