// Peers in another PID namespace. Their process ids name nobody here, or somebody else, and are no sign of
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
    const Identity identity = *decode_address(device.address());
    slot().nonce = identity.nonce;
    slot().worker_id = identity.worker_id;
    slot().pid = identity.pid;
    slot().fd = identity.fd;
    slot().uid = identity.uid;
    slot().segment_bytes = identity.segment_bytes;
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
  WindowSender sender(segment.window(0), segment.shape().window_bytes, &segment.control(0).consumed);
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
  foreigner.is(SlotPhase::refused);
  foreigner.hub().control(0).owner = 1;
  for (int i = 0; i < 10; ++i) hub.progress(), hub.check();
  EXPECT_TRUE(foreigner.is_still(SlotPhase::refused));
  EXPECT_EQ(foreigner.hub().control(0).owner, 1u);
}

}  // namespace
}  // namespace stria::shm::test
