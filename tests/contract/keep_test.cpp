// The group keep: a payload that its receiver leaves where it arrived stays as it is until it is released.
#include <algorithm>

#include "tests/contract/subject.hpp"

namespace stria::contract {
namespace {

struct Kept {
  std::uint16_t sequence;
  std::uint64_t name;
  const std::byte* payload;
  std::uint32_t bytes;
  Bytes copy() const { return {payload, payload + bytes}; }
};

class KeepContract : public Contract {
 protected:
  KeepContract() : a(open(1)), b(open(2)), link(a->connect(*b)) {
    b->keeps = [this](const stria_packet_t& packet) {
      kept.push_back({packet.header->sequence, packet.keep, static_cast<const std::byte*>(packet.payload),
                      packet.bytes});
      return true;
    };
    bytes = std::min<std::size_t>(a->limits(link).eager_max, 6000);
  }
  void send_some() {
    constexpr std::uint16_t kMessages = 8;
    for (std::uint16_t i = 0; i < kMessages; ++i)
      ASSERT_EQ(send({a.get(), b.get()}, *a, link, Path::buffered, header(i), pattern(i, bytes)), Status::ok);
    ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() + kept.size() == kMessages; }));
  }
  std::unique_ptr<Peer> a, b;
  stria_link_t* link;
  std::size_t bytes = 0;
  std::vector<Kept> kept;
};

TEST_P(KeepContract, a_kept_payload_outlives_the_packets_that_follow_and_its_link) {
  send_some();
  if (kept.empty()) GTEST_SKIP() << lacks("payloads that may stay, here and now");
  stria_link_t* const back = b->ups.at(1);
  b->keeps = nullptr;
  send_some();
  a->close(1000);
  ASSERT_TRUE(drive({b.get()}, [&] { return b->downs.size() == 1; })) << "what is kept holds the link up";
  for (const Kept& one : kept) EXPECT_EQ(one.copy(), pattern(one.sequence, bytes));
  for (const Kept& one : kept) {
    EXPECT_EQ(one.copy(), pattern(one.sequence, bytes)) << "changed by the release of another";
    b->ops().release(back, one.name);
  }
}

TEST_P(KeepContract, a_release_from_inside_of_a_delivery_is_of_the_payload_that_it_names) {
  std::size_t came = 0;
  b->keeps = [&](const stria_packet_t& packet) {
    ++came;
    if (!kept.empty()) {
      EXPECT_EQ(kept.back().copy(), pattern(kept.back().sequence, bytes));
      b->ops().release(b->ups.at(1), kept.back().name);
      kept.pop_back();
    }
    kept.push_back(
        {packet.header->sequence, packet.keep, static_cast<const std::byte*>(packet.payload), packet.bytes});
    return true;
  };
  constexpr std::uint16_t kMessages = 600;
  for (std::uint16_t i = 0; i < kMessages; ++i)
    ASSERT_EQ(send({a.get(), b.get()}, *a, link, Path::buffered, header(i), pattern(i, bytes)), Status::ok);
  ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() + came == kMessages; }));
  if (came == 0) GTEST_SKIP() << lacks("payloads that may stay, here and now");
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept.back().copy(), pattern(kept.back().sequence, bytes));
  b->ops().release(b->ups.at(1), kept.back().name);
}

TEST_P(KeepContract, room_comes_back_with_every_release) {
  for (int round = 0; round < 50; ++round) {
    send_some();
    for (const Kept& one : kept) {
      ASSERT_EQ(one.copy(), pattern(one.sequence, bytes));
      b->ops().release(b->ups.at(1), one.name);
    }
    kept.clear();
    b->received.clear();
  }
}

/// The fake keeps when it is told so.
std::vector<Subject> keepers() {
  std::vector<Subject> list =
      subjects_with([](const stria_provider_t& table) { return table.keep != nullptr; });
  if (!list.empty() && list.front().label.starts_with("fake"))
    list.push_back(fake_subject("fake_keeps", {.seed = 13, .delay = 5, .keeps = true}));
  return list;
}
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KeepContract);
STRIA_CONTRACT_ON(KeepContract, keepers());

}  // namespace
}  // namespace stria::contract
