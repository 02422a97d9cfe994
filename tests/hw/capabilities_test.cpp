// Names and meanings of capabilities: complete, unique, and shown as they are set.
#include "hw/capabilities.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace stria::hw {
namespace {

TEST(Capabilities, every_bit_has_one_name_and_a_meaning) {
  std::set<std::string> names;
  std::uint64_t seen = 0;
  for (const CapabilityBit& entry : capability_bits()) {
    EXPECT_EQ(std::popcount(entry.bit), 1);
    EXPECT_EQ(seen & entry.bit, 0u) << entry.name;
    seen |= entry.bit;
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_STRNE(entry.meaning, "");
  }
  EXPECT_EQ(capability_bits().size(), 28u);
}

TEST(Capabilities, each_limit_names_another_member) {
  Capabilities sample{};
  for (const CapabilityLimit& entry : capability_limits()) {
    EXPECT_EQ(sample.*entry.member, 0u) << entry.name << " names a member twice";
    sample.*entry.member = 1;
  }
  EXPECT_EQ(sample.pio_max & sample.pio_windows & sample.pio_window_bytes & sample.pio_mtu &
                sample.eager_max & sample.key_bits & sample.strided_depth & sample.max_sge & sample.max_keys,
            1u);
}

TEST(Capabilities, names_of_lists_what_is_set_and_keeps_unknown_bits) {
  EXPECT_EQ(names_of(0), "none");
  EXPECT_EQ(names_of(STRIA_CAP_PIO | STRIA_CAP_SEND_INVALIDATE), "pio, send_invalidate");
  EXPECT_EQ(names_of(std::uint64_t{1} << 50), "bit 50");
}

TEST(Capabilities, has_asks_for_all_of_the_bits) {
  Capabilities sample{};
  sample.flags = STRIA_CAP_GET;
  EXPECT_TRUE(has(sample, STRIA_CAP_GET));
  EXPECT_FALSE(has(sample, STRIA_CAP_GET | STRIA_CAP_PUT));
}

TEST(Capabilities, text_says_yes_only_for_what_is_there) {
  Capabilities sample{};
  sample.flags = STRIA_CAP_STRIDED;
  sample.eager_max = 4096;
  const std::string text = to_text(sample, 2);
  EXPECT_NE(text.find("  strided            yes"), std::string::npos) << text;
  EXPECT_NE(text.find("  composite          -"), std::string::npos) << text;
  EXPECT_NE(text.find("4096 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("  strided_depth      any"), std::string::npos) << text;
}

}  // namespace
}  // namespace stria::hw
