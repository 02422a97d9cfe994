// Claimants of inbox slots that die between two instructions, and the peer slots that others get after them.
// tests/models/inbox.pml explores all such moments; here are those it found.
#include "transport/shm/inbox.hpp"

#include "tests/transport/shm/inside.hpp"

namespace stria::shm::test {
namespace {

// No windows: all goes through the inbox.
constexpr std::uint32_t kPeers = 2;
const Settings kInbox = {{"STRIA_SHM_WINDOWS", "0"}, {"STRIA_SHM_MAX_PEERS", std::to_string(kPeers)}};

/// A process that comes after the dead one, and says one thing.
int newcomer(Child& parent) {
  const Bytes address = parent.receive();
  Node node(3);
  stria_link_t* link = node.connect(address, 1);
  if (link == nullptr) return 2;
  if (node.eager(link, header(7), pattern(7, 8)) != Status::ok) return 3;
  parent.send(kWord);
  node.close(5000);
  return 0;
}

/// The victim has its inbox slot and is killed; then records of another peer have to come.
void expect_next_is_heard(Node& hub, Child& victim, Child& next, const std::function<bool()>& is_forgotten) {
  victim.kill();
  ASSERT_TRUE(until(is_forgotten, [&] { hub.check(); }));
  hub.got.clear();
  next.send(hub.address());
  ASSERT_FALSE(next.receive().empty());
  ASSERT_TRUE(until([&] { return !hub.got.empty(); }, [&] { hub.progress(); }, 5))
      << "the inbox waits for a record of the dead that bears the number of the living";
  EXPECT_EQ(hub.got[0].header.tag, 7u);
  EXPECT_EQ(hub.got[0].from, 3u);
}

TEST(Inbox, a_claim_of_a_process_nobody_knows_yet_does_not_outlive_its_peer_slot) {
  Child victim([](Child& up) {
    auto hub = map_hub(up.receive());
    if (!hub) return 2;
    const SegmentView segment = view(*hub);
    segment.peer(0).state =
        slot_state(SlotPhase::ready, static_cast<std::uint32_t>(::getpid()), namespace_number(kPidNamespace));
    segment.header().next_peer = kPeers;  // the next one begins at slot 0 again
    if (InboxSender(segment, 0).claim() == nullptr) return 3;
    up.send(kWord);
    ::pause();
    return 0;
  });
  Child next(newcomer);
  Node hub(1, kInbox);
  ASSERT_EQ(hub.opened, Status::ok) << hub.error;
  victim.send(hub.address());
  ASSERT_FALSE(victim.receive().empty());
  auto own = map_hub(hub.address());
  ASSERT_TRUE(own.has_value());
  expect_next_is_heard(hub, victim, next, [&] { return view(*own).peer(0).state == 0; });
}

TEST(Inbox, a_claim_whose_producer_did_not_live_to_move_the_head_does_not_outlive_its_peer_slot) {
  Child victim([](Child& up) {
    const Bytes address = up.receive();
    Node node(2);
    if (node.connect(address, 1) == nullptr) return 2;
    auto hub = map_hub(address);
    if (!hub) return 3;
    up.send(kWord);
    if (up.receive().empty()) return 4;
    const SegmentView segment = view(*hub);
    segment.header().next_peer = kPeers;
    if (InboxSender(segment, 0).claim() == nullptr) return 5;
    --segment.header().inbox_head;  // as it was before the second of claim()'s two instructions
    up.send(kWord);
    ::pause();
    return 0;
  });
  Child next(newcomer);
  Node hub(1, kInbox);
  ASSERT_EQ(hub.opened, Status::ok) << hub.error;
  victim.send(hub.address());
  ASSERT_FALSE(victim.receive().empty());
  ASSERT_TRUE(until([&] { return hub.ups.count(2) > 0; }, [&] { hub.progress(); }));
  victim.send(kWord);
  ASSERT_FALSE(victim.receive().empty());
  expect_next_is_heard(hub, victim, next, [&] { return hub.downs.count(2) > 0; });
}

}  // namespace
}  // namespace stria::shm::test
