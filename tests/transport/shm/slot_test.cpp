// Peer slots, what belongs to them, and when they go to others.
#include <gmock/gmock.h>

#include <future>

#include "hw/pio.hpp"
#include "tests/transport/shm/inside.hpp"
#include "transport/shm/window.hpp"

namespace stria::shm::test {
namespace {

using ::testing::HasSubstr;

const Settings kTwoPeers = {{"STRIA_SHM_MAX_PEERS", "2"}};
constexpr auto kSenseless = static_cast<RecordKind>(60);

/// The hub gives the visitor up, for a record that makes no sense; then its process ends.
void give_up_and_kill(
    Node& hub, Visitor& visitor, const std::function<void()>& meanwhile = [] {}) {
  visitor.connect_to(hub);
  ASSERT_TRUE(until([&] { return hub.ups.count(2) > 0; }, [&] { hub.progress(); }));
  visitor.act();
  ASSERT_TRUE(until([&] { return hub.downs.count(2) > 0; }, [&] { hub.progress(), hub.check(); }));
  EXPECT_EQ(hub.downs[2], Status::io_error);
  meanwhile();
  visitor.kill();
}

TEST(ShmSlot, of_a_peer_that_was_given_up_comes_back_with_its_window_when_the_process_ends) {
  Visitor visitor(2, [](const Visit& visit) {
    const std::uint32_t window = visit.hub.peer(visit.slot).window;
    hw::publish_word(visit.hub.window(window), make_control(kSenseless, 0) | (std::uint64_t{1} << 32));
    visit.hub.header().hints.leave(window);
    return true;
  });
  Node hub(1, kTwoPeers);
  auto own = map_hub(hub.address());
  ASSERT_TRUE(own.has_value());
  give_up_and_kill(hub, visitor, [&] {
    for (int i = 0; i < 100; ++i) hub.check();
    EXPECT_NE(view(*own).peer(0).state, 0u) << "the process may still write to it";
    EXPECT_NE(view(*own).control(0).owner, 0u);
  });
  EXPECT_TRUE(until([&] { return view(*own).peer(0).state == 0; }, [&] { hub.check(); }, 3));
  EXPECT_EQ(view(*own).control(0).owner, 0u);
}

TEST(ShmSlot, of_a_peer_that_was_given_up_does_not_stop_the_inbox_with_a_claim_that_stays) {
  bool is_given_up = false;
  const Settings inbox = {{"STRIA_SHM_WINDOWS", "0"}, {"STRIA_SHM_MAX_PEERS", "3"}};
  Visitor visitor(2, [&](const Visit& visit) {
    InboxSender sender(visit.hub, visit.slot);
    InboxSlot* claimed = sender.claim();
    if (claimed != nullptr && !std::exchange(is_given_up, true))
      sender.publish(*claimed, make_control(kSenseless, 0, 0));
    return claimed != nullptr;
  });
  Node hub(1, inbox), next(3, inbox);
  give_up_and_kill(hub, visitor, [&] { visitor.act(); });
  stria_link_t* link = next.connect(hub);
  ASSERT_NE(link, nullptr) << next.error;
  ASSERT_EQ(next.eager(link, header(7), pattern(7, 8)), Status::ok);
  EXPECT_TRUE(until([&] { return !hub.got.empty(); }, [&] { hub.progress(), hub.check(); }, 4));
}

TEST(ShmSlot, of_a_process_nobody_knew_yet_is_given_on_without_its_pin) {
  const auto idle = [](const Visit&) { return true; };
  Visitor victim(2, [](const Visit& visit) {
    hw::KeyWord word = 0;
    std::memcpy(&word, visit.order.data(), sizeof word);
    hw::KeyRecord record;
    const hw::KeyTableView keys(visit.hub.keys(), key_shape(visit.hub.shape()));
    return keys.begin_pinned(visit.slot, word, hw::kKeyWrite, record) == Status::ok;  // a put begins
  });
  Visitor next(3, idle);
  Node hub(1, kTwoPeers);
  auto own = map_hub(hub.address());
  ASSERT_TRUE(own.has_value());
  Bytes buffer(100);
  const stria_payload_t region = memory(buffer.data(), buffer.size());
  stria_provider_key_t key{};
  const auto* ops = &Node::ops();
  ASSERT_EQ(ops->fast_register(hub.device(), nullptr, &region, STRIA_ACCESS_REMOTE_WRITE, &key), STRIA_OK);
  victim.connect_to(hub);
  victim.act(
      Bytes(reinterpret_cast<std::byte*>(key.data), reinterpret_cast<std::byte*>(key.data) + key.bytes));
  victim.kill();
  ASSERT_TRUE(until([&] { return view(*own).peer(0).state == 0; }, [&] { hub.check(); }));
  EXPECT_TRUE(hub.ups.empty());
  view(*own).header().next_peer = 2;  // the next one begins at slot 0 again
  next.connect_to(hub);
  ASSERT_TRUE(until([&] { return hub.ups.count(3) > 0; }, [&] { hub.progress(); }));
  auto ended = std::async(std::launch::async, [&] { return ops->invalidate(hub.device(), &key); });
  EXPECT_EQ(ended.wait_for(std::chrono::seconds(30)), std::future_status::ready)
      << "the owner waits for the pin of the dead, as somebody else lives in its slot";
  next.kill();  // sets the owner free
  EXPECT_EQ(ended.get(), STRIA_OK);
}

TEST(ShmSlot, is_kept_for_the_answer_of_each_peer_that_this_worker_connected_to) {
  Node hub(1, kTwoPeers);
  Node a(2), b(3), c(4);
  stria_link_t* to_a = hub.connect(a);
  ASSERT_NE(to_a, nullptr) << hub.error;
  ASSERT_EQ(hub.eager(to_a, header(2), pattern(2, 8)), Status::ok);
  a.progress();  // answers; the hub does not look
  stria_link_t* to_b = hub.connect(b);
  ASSERT_NE(to_b, nullptr) << "two fit: " << hub.error;
  ASSERT_EQ(hub.eager(to_b, header(3), pattern(3, 8)), Status::ok);
  EXPECT_EQ(hub.connect(c), nullptr) << "it would be refused when it answers, and what it was sent lost";
  EXPECT_THAT(hub.error, HasSubstr("STRIA_SHM_MAX_PEERS"));
  const auto all = [&] { hub.progress(), hub.check(), a.progress(), b.progress(); };
  ASSERT_TRUE(until([&] { return !a.got.empty() && !b.got.empty(); }, all, 3));
  EXPECT_EQ(hub.connect(c), nullptr);
  EXPECT_TRUE(hub.downs.empty());

  a.close(0);
  ASSERT_TRUE(until([&] { return hub.downs.count(2) > 0; }, [&] { hub.progress(), hub.check(); }, 3));
  stria_link_t* to_c = hub.connect(c);
  ASSERT_NE(to_c, nullptr) << hub.error;
  ASSERT_EQ(hub.eager(to_c, header(4), pattern(4, 8)), Status::ok);
  ASSERT_TRUE(until([&] { return !c.got.empty(); }, [&] { hub.progress(), hub.check(), c.progress(); }, 3));
  EXPECT_EQ(hub.downs.size(), 1u);
}

/// By a window, or by the inbox.
class ShmSlots : public ::testing::TestWithParam<const char*> {};

TEST_P(ShmSlots,
       of_a_worker_that_closed_before_it_was_known_comes_back_with_its_window_while_its_process_lives) {
  Node hub(1, {{"STRIA_SHM_MAX_PEERS", "2"}, {"STRIA_SHM_WINDOWS", GetParam()}});
  auto own = map_hub(hub.address());
  ASSERT_TRUE(own.has_value());
  for (std::uint64_t id = 2; id < 8; ++id) {
    Node leaver(id);
    stria_link_t* link = leaver.connect(hub);
    ASSERT_NE(link, nullptr) << leaver.error;
    ASSERT_EQ(leaver.eager(link, header(id), pattern(id, 8)), Status::ok);
    leaver.close(0);
    if (id % 2 == 0) continue;
    // The hub hears of the first, and finds the other when it looks at its slots.
    hub.progress(1);
    hub.check();
    EXPECT_EQ(view(*own).peer(0).state, 0u);
    EXPECT_EQ(view(*own).peer(1).state, 0u);
    for (std::uint32_t i = 0; i < view(*own).shape().windows; ++i) EXPECT_EQ(view(*own).control(i).owner, 0u);
  }
  Node stays(9);
  stria_link_t* link = stays.connect(hub);
  ASSERT_NE(link, nullptr) << stays.error;
  ASSERT_EQ(stays.eager(link, header(9), pattern(9, 8)), Status::ok);
  ASSERT_TRUE(until([&] { return !hub.got.empty(); }, [&] { hub.progress(); }, 3));
  EXPECT_EQ(hub.got[0].from, 9u);
}

INSTANTIATE_TEST_SUITE_P(Ways, ShmSlots, ::testing::Values("8", "0"), [](const auto& one) {
  return std::string(one.param) == "0" ? "by_the_inbox" : "by_a_window";
});

}  // namespace
}  // namespace stria::shm::test
