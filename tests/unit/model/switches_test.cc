#include "model/switches.h"

#include <gtest/gtest.h>

namespace lookback::test {
namespace {

using model::Switches;

ModelConfig config() {
  ModelConfig config;
  config.n_layer = 3;
  config.n_head = 4;
  config.n_ctx = 32;
  return config;
}

Off head(std::uint32_t layer, std::uint32_t head) { return {.layer = layer, .head = head}; }
Off link(std::uint32_t layer, std::uint32_t head, std::uint32_t query, std::uint32_t key) {
  return {.layer = layer, .head = head, .link = Off::Link{.query = query, .key = key}};
}

Switches made(std::vector<Off> off) {
  auto switches = Switches::create(config(), off);
  EXPECT_TRUE(switches.has_value());
  return *switches;
}

TEST(Switches, AreKeptByLayerEachOnce) {
  const auto switches =
      made({head(2, 3), head(2, 1), head(2, 3), link(0, 1, 5, 2), link(0, 1, 5, 2), link(0, 1, 4, 2)});
  ASSERT_EQ(switches.heads_off(2).size(), 2u);
  EXPECT_EQ(switches.heads_off(2)[0], 1u);
  EXPECT_TRUE(switches.heads_off(0).empty());
  ASSERT_EQ(switches.cut_links(0).size(), 2u);
  EXPECT_EQ(switches.cut_links(0)[0].query, 4u);
  EXPECT_TRUE(switches.cut_links(1).empty());
}

TEST(Switches, TellTheFirstLayerThatDiffers) {
  const auto difference = [](const Switches& a, const Switches& b) {
    EXPECT_EQ(a.first_difference(b, 3), b.first_difference(a, 3));
    return a.first_difference(b, 3);
  };
  EXPECT_EQ(difference(made({head(0, 1), link(1, 0, 3, 2)}), made({link(1, 0, 3, 2), head(0, 1), head(0, 1)})), 3u);
  EXPECT_EQ(difference(made({}), Switches()), 3u);
  EXPECT_EQ(difference(made({head(0, 1)}), made({})), 0u);
  EXPECT_EQ(difference(made({head(0, 1)}), made({head(1, 1)})), 0u);
  EXPECT_EQ(difference(made({head(0, 1), head(2, 0)}), made({head(2, 1), head(0, 1)})), 2u);
  EXPECT_EQ(difference(made({link(1, 0, 3, 2)}), made({link(1, 0, 3, 1)})), 1u);
  EXPECT_EQ(difference(made({link(1, 0, 3, 2)}), made({head(1, 0)})), 1u);
}

TEST(Switches, RefuseWhatIsOutOfRange) {
  for (const auto& off : {head(3, 0), head(0, 4), link(0, 0, 2, 3), link(0, 0, 32, 0), link(0, 0, 0, 0)}) {
    const auto switches = Switches::create(config(), {&off, 1});
    ASSERT_FALSE(switches.has_value());
    EXPECT_EQ(switches.error().code, ErrorCode::kBadArgument);
  }
}

TEST(Switches, LeaveEveryRowAKey) {
  std::vector<Off> off;
  for (std::uint32_t key = 0; key < 5; ++key) off.push_back(link(1, 2, 5, key));
  EXPECT_TRUE(Switches::create(config(), off).has_value());
  off.push_back(link(1, 2, 5, 5));
  EXPECT_FALSE(Switches::create(config(), off).has_value());
  off.back() = link(1, 3, 5, 5);  // another head's row
  EXPECT_TRUE(Switches::create(config(), off).has_value());
}

}  // namespace
}  // namespace lookback::test
