// Peers that stand still: stopped by a signal or a debugger, or by a machine that has no time for them. They
// go on later, so nothing of theirs is lost; and no other peer waits for them.
#include <signal.h>

#include "tests/transport/shm/inside.hpp"

namespace stria::shm::test {
namespace {

void stop(const Child& child) {
  ::kill(child.pid(), SIGSTOP);
  int status = 0;
  ASSERT_EQ(::waitpid(child.pid(), &status, WUNTRACED), child.pid());
  ASSERT_TRUE(WIFSTOPPED(status));
}

/// Says tags 0, 1, 2.
bool say_three(const Visit& visit) {
  for (std::uint64_t tag = 0; tag < 3; ++tag)
    if (visit.node.eager(visit.link, header(tag), pattern(tag, 100 * tag)) != Status::ok) return false;
  return true;
}

/// By a window, or by the inbox.
class ShmStopped : public ::testing::TestWithParam<const char*> {
 protected:
  Settings settings() const {
    return {{"STRIA_SHM_ATTACH", "socket"}, {"STRIA_SHM_WINDOWS", GetParam()}, {"STRIA_SHM_MAX_PEERS", "4"}};
  }
};

// Its door is a thread of its own, which stands still as well: the hub cannot attach to it.
TEST_P(ShmStopped, a_new_peer_is_accepted_with_all_it_sent_when_it_goes_on) {
  Visitor visitor(2, say_three, settings());
  Node hub(1, settings()), other(3, settings());
  visitor.connect_to(hub);
  visitor.act();
  stop(visitor);
  hub.progress();  // waits for an answer, for a second at most, once
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 50; ++i) hub.check(), hub.progress();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20)) << "it waits again and again";
  stria_link_t* link = other.connect(hub);
  ASSERT_NE(link, nullptr) << other.error;
  ASSERT_EQ(other.eager(link, header(9), pattern(9, 8)), Status::ok);
  ASSERT_TRUE(until([&] { return !hub.got.empty(); }, [&] { hub.progress(), hub.check(); }))
      << "another peer waits for the one that stands still";
  EXPECT_EQ(hub.got[0].from, 3u);
  EXPECT_EQ(hub.ups.count(2), 0u);
  hub.got.clear();
  ::kill(visitor.pid(), SIGCONT);
  ASSERT_TRUE(until([&] { return hub.got.size() >= 3; }, [&] { hub.progress(), hub.check(); }, 5));
  for (std::uint64_t tag = 0; tag < 3; ++tag) {
    EXPECT_EQ(hub.got[tag].from, 2u);
    EXPECT_EQ(hub.got[tag].header.tag, tag);
    EXPECT_EQ(hub.got[tag].payload, pattern(tag, 100 * tag));
  }
  EXPECT_TRUE(hub.downs.empty());
}

TEST_P(ShmStopped, a_new_peer_that_is_killed_then_leaves_nothing) {
  Visitor visitor(2, say_three, settings());
  Node hub(1, settings());
  auto own = map_hub(hub.address());
  ASSERT_TRUE(own.has_value());
  visitor.connect_to(hub);
  visitor.act();
  stop(visitor);
  hub.progress();
  hub.check();
  visitor.kill();
  EXPECT_TRUE(until([&] { return view(*own).peer(0).state == 0; }, [&] { hub.progress(), hub.check(); }, 5));
  EXPECT_TRUE(hub.got.empty());
}

TEST_P(ShmStopped, a_peer_in_the_middle_of_a_record_does_not_hide_the_end_and_the_last_words_of_another) {
  std::unique_ptr<InboxSender> inbox;
  InboxSlot* claimed = nullptr;
  Visitor stopped(
      2,
      [&](const Visit& visit) {
        if (claimed == nullptr) {
          inbox = std::make_unique<InboxSender>(visit.hub, visit.slot);
          return (claimed = inbox->claim()) != nullptr;
        }
        inbox->publish(*claimed, make_control(RecordKind::packed, 0, 0));
        return true;
      },
      settings());
  Visitor victim(3, say_three, settings()), next(4, say_three, settings());
  Node hub(1, settings());
  auto own = map_hub(hub.address());
  ASSERT_TRUE(own.has_value());
  stopped.connect_to(hub);
  victim.connect_to(hub);
  ASSERT_TRUE(until([&] { return hub.ups.size() == 2; }, [&] { hub.progress(); }));
  stopped.act();
  stop(stopped);
  victim.act();
  victim.kill();
  ASSERT_TRUE(until([&] { return hub.downs.count(3) > 0; }, [&] { hub.progress(), hub.check(); }, 4));
  EXPECT_EQ(hub.downs[3], Status::peer_failed);
  ASSERT_EQ(hub.got.size(), 3u);
  for (std::uint64_t tag = 0; tag < 3; ++tag) EXPECT_EQ(hub.got[tag].payload, pattern(tag, 100 * tag));
  EXPECT_EQ(hub.downs.count(2), 0u);
  // Its slot goes to the next one, whose records are not taken for its own.
  EXPECT_EQ(view(*own).peer(1).state, 0u);
  hub.got.clear();
  view(*own).header().next_peer = 1;
  next.connect_to(hub);
  next.act();
  EXPECT_EQ(slot_of(view(*own), 4), 1u);
  ::kill(stopped.pid(), SIGCONT);
  stopped.act();
  ASSERT_TRUE(until([&] { return hub.got.size() >= 4; }, [&] { hub.progress(), hub.check(); }));
  EXPECT_EQ(std::erase_if(hub.got, [](const Got& one) { return one.from == 2; }), 1u);
  ASSERT_EQ(hub.got.size(), 3u);
  for (std::uint64_t tag = 0; tag < 3; ++tag) {
    EXPECT_EQ(hub.got[tag].from, 4u);
    EXPECT_EQ(hub.got[tag].payload, pattern(tag, 100 * tag));
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, ShmStopped, ::testing::Values("8", "0"), [](const auto& one) {
  return std::string(one.param) == "0" ? "by_the_inbox" : "by_a_window";
});

}  // namespace
}  // namespace stria::shm::test
