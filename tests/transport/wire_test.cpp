// The bytes on the wire, written out. When one of these tests fails the format changed: then wire::kVersion
// changes too.
#include "transport/wire.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "stria/provider_coresident.h"

namespace stria::wire {
namespace {

template <class T>
std::string bytes_of(const T& value) {
  static_assert(std::has_unique_object_representations_v<T>, "no padding travels");
  unsigned char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  std::string text;
  for (std::size_t i = 0; i < sizeof raw; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    if (i > 0 && i % 4 == 0) text += ' ';
    text += kDigits[raw[i] >> 4];
    text += kDigits[raw[i] & 15];
  }
  return text;
}

TEST(Wire, the_version_belongs_to_the_bytes_below) {
  EXPECT_EQ(kVersion, 12);
}

TEST(Wire, kinds_keep_their_numbers) {
  EXPECT_EQ(static_cast<int>(Kind::none), 0);
  EXPECT_EQ(static_cast<int>(Kind::eager), 1);
  EXPECT_EQ(static_cast<int>(Kind::rts), 2);
  EXPECT_EQ(static_cast<int>(Kind::rtr), 3);
  EXPECT_EQ(static_cast<int>(Kind::frag), 4);
  EXPECT_EQ(static_cast<int>(Kind::fin), 5);
  EXPECT_EQ(static_cast<int>(Kind::credit), 6);
  EXPECT_EQ(static_cast<int>(Kind::rma_get), 7);
  EXPECT_EQ(static_cast<int>(Kind::rma_put), 8);
  EXPECT_EQ(static_cast<int>(Kind::atomic), 9);
  EXPECT_EQ(static_cast<int>(Kind::word), 10);
  EXPECT_EQ(static_cast<int>(Kind::sync), 11);
  EXPECT_EQ(static_cast<int>(Kind::ask_key), 12);
  EXPECT_EQ(static_cast<int>(Kind::rail_key), 13);
  EXPECT_EQ(static_cast<int>(Kind::gone), 14);
  EXPECT_EQ(static_cast<int>(Kind::end_key), 15);
}

TEST(Wire, a_synchronous_message_is_named_by_its_number_and_its_senders_slot) {
  Header header = make_header(Kind::sync, 5);
  header.sequence = 0xd2e3;
  header.flags = 0x11;
  EXPECT_EQ(sync_name(header), 0xd2e311u);
  EXPECT_EQ(sync_slot(sync_name(header)), 0x10u);
  EXPECT_EQ(sync_name(make_header(Kind::eager, 5)), 0u);
  header.sequence = 0;
  header.flags = 1;
  EXPECT_NE(sync_name(header), 0u) << "is what names no message";
  EXPECT_EQ(sync_slot(sync_name(header)), 0u);
  EXPECT_GE(sync_slot(0), kSyncSlots);
}

TEST(Wire, header_bytes) {
  Header header = make_header(Kind::rts, 0x1122334455667788, 0x99aabbcc);
  EXPECT_EQ(bytes_of(header), "02000000 ccbbaa99 88776655 44332211");
  header.flags = 0xf1;
  header.sequence = 0xd2e3;
  EXPECT_EQ(bytes_of(header), "02f1e3d2 ccbbaa99 88776655 44332211");
}

TEST(Wire, a_fragment_says_in_56_bits_where_its_bytes_belong) {
  const Header header = make_fragment(0x1122334455667788, 0xa1a2a3a4a5a6a7);
  EXPECT_EQ(bytes_of(header), "04a7a6a5 a4a3a2a1 88776655 44332211");
  EXPECT_EQ(place_of(header), 0xa1a2a3a4a5a6a7u);
  EXPECT_EQ(bytes_of(make_fragment(1, kPutting)), "04ffffff ffffffff 01000000 00000000");
  EXPECT_EQ(place_of(make_fragment(1, kPutting)), kPutting);
  EXPECT_EQ(place_of(make_fragment(1, 0)), 0u);
}

TEST(Wire, rts_bytes) {
  const RtsBody body{.length = 0x0102030405060708,
                     .sender_op = 0x1112131415161718,
                     .block_bytes = 0x21222324,
                     .key_bytes = 0x31,
                     .sparse = 0x41,
                     .turned = 0x51,
                     .reserved = 0x61};
  EXPECT_EQ(bytes_of(body), "08070605 04030201 18171615 14131211 24232221 31415161");
}

TEST(Wire, the_flags_of_a_key_lie_behind_its_word) {
  EXPECT_EQ(STRIA_KEY_FLAGS_AT, sizeof(std::uint32_t));
  EXPECT_EQ(STRIA_KEY_MAPPED, 1u);
}

TEST(Wire, rtr_bytes) {
  const RtrBody body{.receiver_op = 0x1112131415161718,
                     .offset = 0x2122232425262728,
                     .length = 0x3132333435363738,
                     .fragment_bytes = 0x41424344,
                     .key_bytes = 0x51,
                     .piece = 0x61,
                     .reserved = {}};
  EXPECT_EQ(bytes_of(body), "18171615 14131211 28272625 24232221 38373635 34333231 44434241 51610000");
}

TEST(Wire, rma_bytes) {
  const RmaBody body{.offset = 0x1112131415161718,
                     .length = 0x2122232425262728,
                     .initiator_op = 0x3132333435363738,
                     .fragment_bytes = 0x41424344,
                     .reserved = 0};
  EXPECT_EQ(bytes_of(body), "18171615 14131211 28272625 24232221 38373635 34333231 44434241 00000000");
}

TEST(Wire, ask_key_bytes) {
  EXPECT_EQ(bytes_of(AskKeyBody{.receiver_op = 0x1112131415161718}), "18171615 14131211");
  EXPECT_EQ(bytes_of(make_ask_key(0x1122334455667788, 7)), "0c070000 00000000 88776655 44332211");
}

TEST(Wire, atomic_bytes) {
  const AtomicBody body{.offset = 0x0102030405060708,
                        .operand = 0x1112131415161718,
                        .compare = 0x2122232425262728,
                        .initiator_op = 0x3132333435363738};
  EXPECT_EQ(bytes_of(body), "08070605 04030201 18171615 14131211 28272625 24232221 38373635 34333231");
  EXPECT_EQ(STRIA_ATOMIC_FETCH_ADD, 1);
  EXPECT_EQ(STRIA_ATOMIC_COMPARE_SWAP, 2);
}

}  // namespace
}  // namespace stria::wire
