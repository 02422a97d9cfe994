// Peers in another PID namespace. Their process ids name no process here, or another one, and are no sign of
// their end. The steps of such a peer are done by hand, one by one.
#include "hw/pio.hpp"
#include "tests/transport/shm/inside.hpp"
#include "transport/shm/window.hpp"

namespace stria::shm::test {
namespace {

constexpr std::uint32_t kElsewhere = 1;        // no namespace has this number
constexpr std::uint32_t kNobody = 0x7fffffff;  // no process has this one
const Settings kTwoPeers = {{"STRIA_SHM_MAX_PEERS", "2"}};

/// A device whose slot in the hub's table is the first.
class Foreigner {
 public:
  Foreigner(const Node& hub, const Node& device) : mapped_(*map_hub(hub.address())), hub_(view(mapped_)) {
    slot().identity = *decode_address(device.address());
    slot().identity.door_space = 0;
    slot().window = kNone;
    hub_.header().next_peer = 1;
  }
  PeerSlot& slot() const { return hub_.peer(0); }
  const SegmentView& hub() const { return hub_; }
  void is(SlotPhase phase) const { slot().state = slot_state(phase, kNobody, kElsewhere); }
  bool is_still(SlotPhase phase) const { return slot().state == slot_state(phase, kNobody, kElsewhere); }

 private:
  Attached mapped_;
  SegmentView hub_;
};

TEST(ShmElsewhere, a_peer_that_takes_its_slot_keeps_slot_and_window) {
  Node hub(1, kTwoPeers), peer(2);
  const Foreigner foreigner(hub, peer);
  const SegmentView& segment = foreigner.hub();
  foreigner.is(SlotPhase::claiming);
  segment.control(0).owner = 1;
  for (int i = 0; i < 10; ++i) hub.progress(), hub.check();
  EXPECT_EQ(segment.control(0).owner, 1u);
  foreigner.slot().window = 0;
  foreigner.is(SlotPhase::ready);
  WindowSender sender(segment.window(0), segment.shape().window_bytes, &segment.control(0).consumed, true);
  ASSERT_TRUE(sender.put_half(header(7), pattern(7, 8).data(), 8));
  segment.header().hints.leave(0);
  ASSERT_TRUE(until([&] { return !hub.got.empty(); }, [&] { hub.progress(), hub.check(); }, 3))
      << "the window belongs to nobody, so nobody looks at it";
  EXPECT_EQ(hub.got[0].from, 2u);
  EXPECT_EQ(hub.got[0].payload, pattern(7, 8));
}

TEST(ShmElsewhere, a_peer_that_was_refused_may_still_write_to_its_slot_and_window) {
  Node hub(1, kTwoPeers), peer(2);
  const Foreigner foreigner(hub, peer);
  foreigner.slot().identity.door_space = namespace_number(kNetNamespace);
  foreigner.is(SlotPhase::refused);
  foreigner.hub().control(0).owner = 1;
  for (int i = 0; i < 10; ++i) hub.progress(), hub.check();
  EXPECT_TRUE(foreigner.is_still(SlotPhase::refused));
  EXPECT_EQ(foreigner.hub().control(0).owner, 1u);
  peer.close(0);
  hub.check();
  EXPECT_EQ(foreigner.slot().state, 0u);
  EXPECT_EQ(foreigner.hub().control(0).owner, 0u);
}

/// No windows: all goes through the inbox.
class ShmElsewhereInbox : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kSlots = 64;
  ShmElsewhereInbox() : foreigner(hub, *peer), inbox(foreigner.hub(), 0) { foreigner.is(SlotPhase::ready); }

  /// The peer stands still behind its claim, and is waited for.
  void claim() {
    claimed = inbox.claim();
    ASSERT_NE(claimed, nullptr);
    for (int i = 0; i < 20000; ++i) hub.progress();
  }
  void publish() {
    store_header(claimed->bytes, header(7));
    inbox.publish(*claimed, make_control(RecordKind::packed, 0, 0));
  }
  /// Records that go round the inbox come through.
  void expect_others_are_heard() {
    hub.got.clear();
    stria_link_t* link = other.connect(hub);
    ASSERT_NE(link, nullptr) << other.error;
    std::uint64_t sent = 0;
    const auto step = [&] {
      if (sent < 2 * kSlots && other.eager(link, header(sent), {}) == Status::ok) ++sent;
      hub.progress();
    };
    EXPECT_TRUE(until([&] { return hub.got.size() == 2 * kSlots; }, step, 3)) << hub.got.size();
  }

  const Settings settings = {{"STRIA_SHM_MAX_PEERS", "2"},
                             {"STRIA_SHM_WINDOWS", "0"},
                             {"STRIA_SHM_INBOX_SLOTS", std::to_string(kSlots)}};
  Node hub{1, settings}, other{3};
  std::unique_ptr<Node> peer = std::make_unique<Node>(2);
  Foreigner foreigner;
  InboxSender inbox;
  InboxSlot* claimed = nullptr;
};

TEST_F(ShmElsewhereInbox, has_the_record_of_a_new_peer_that_stood_still_behind_its_claim) {
  claim();
  publish();
  ASSERT_TRUE(until([&] { return !hub.got.empty(); }, [&] { hub.progress(); }, 3));
  EXPECT_EQ(hub.got[0].from, 2u);
  EXPECT_EQ(hub.got[0].header.tag, 7u);
  expect_others_are_heard();
}

TEST_F(ShmElsewhereInbox, goes_on_after_a_peer_that_was_refused_behind_its_claim) {
  ++foreigner.slot().identity.worker_id;  // is not what its segment says
  hub.check();
  ASSERT_TRUE(foreigner.is_still(SlotPhase::refused));
  claim();
  publish();
  expect_others_are_heard();
}

TEST_F(ShmElsewhereInbox, goes_on_after_a_new_peer_that_is_refused_when_its_claim_was_waited_for) {
  ++foreigner.slot().identity.worker_id;
  claim();
  publish();
  expect_others_are_heard();
}

TEST_F(ShmElsewhereInbox, goes_on_after_a_peer_that_died_behind_its_claim) {
  foreigner.slot().identity.door_space = namespace_number(kNetNamespace);
  peer.reset();
  hub.check();
  claim();
  expect_others_are_heard();
}

}  // namespace
}  // namespace stria::shm::test
