// The bytes of a packet.
#include "transport/uct/packets.hpp"

#include <gtest/gtest.h>

#include <array>

namespace stria::uct {
namespace {

TEST(UctPackets, have_a_header_byte_for_byte) {
  const stria_header_t header{0x81, 0xfe, 0x8102, 0x83f405f6, 0x8718191a1b1c1d1e};
  std::array<std::byte, 1 + sizeof header> place{};  // at no multiple of 8
  store_header(place.data() + 1, header);
  EXPECT_EQ(std::memcmp(place.data() + 1, &header, sizeof header), 0);
}

}  // namespace
}  // namespace stria::uct
