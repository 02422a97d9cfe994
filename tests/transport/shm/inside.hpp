// A device's segment as its peers map it, for tests that leave it as a process does that dies or stops
// between two instructions.
#pragma once

#include "hw/pio.hpp"
#include "tests/transport/shm/node.hpp"
#include "transport/shm/address.hpp"
#include "transport/shm/attach.hpp"
#include "transport/shm/inbox.hpp"
#include "transport/shm/window.hpp"

namespace stria::shm::test {

inline const Bytes kWord(1);

/// The segment of a hub.
inline Result<Attached> map_hub(const Bytes& address) {
  auto identity = decode_address(address);
  if (!identity) return std::move(identity).error();
  const Bytes secret = {std::byte{'t'}, std::byte{'e'}, std::byte{'s'}, std::byte{'t'}};
  return attach(*identity, AttachMode::any, fingerprint(secret, identity->nonce, identity->worker_id));
}

inline SegmentView view(const Attached& hub) {
  return {hub.map.data(), reinterpret_cast<const SegmentHeader*>(hub.map.data())->shape};
}

/// The slot of a worker in the hub's table.
inline std::uint32_t slot_of(const SegmentView& hub, std::uint64_t worker_id) {
  std::uint32_t slot = 0;
  while (slot < hub.shape().max_peers && hub.peer(slot).identity.worker_id != worker_id) ++slot;
  return slot;
}

/// What a visitor can get at: its own end of the link, and the hub's segment, in which it has `slot`.
struct Visit {
  Node& node;
  stria_link_t* link;
  const SegmentView& hub;
  std::uint32_t slot;
  Bytes order;
};

/// A process that connects to the hub (worker 1), and does something to it when it is told to.
class Visitor : public Child {
 public:
  using Act = std::function<bool(const Visit&)>;
  Visitor(std::uint64_t id, Act act, Settings settings = {})
      : Child([=](Child& up) { return visit(up, id, act, settings); }) {}

  void connect_to(const Node& hub) {
    send(hub.address());
    ASSERT_FALSE(receive().empty()) << "it cannot connect";
  }
  void act(const Bytes& order = kWord) {
    send(order);
    ASSERT_FALSE(receive().empty()) << "it cannot do it";
  }

 private:
  static int visit(Child& up, std::uint64_t id, const Act& act, const Settings& settings) {
    const Bytes address = up.receive();
    Node node(id, settings);
    stria_link_t* link = node.connect(address, 1);
    if (link == nullptr) return 2;
    auto hub = map_hub(address);
    if (!hub) return 3;
    const SegmentView segment = view(*hub);
    up.send(kWord);
    for (Bytes order = up.receive(); !order.empty(); order = up.receive()) {
      if (!act({node, link, segment, slot_of(segment, id), order})) return 4;
      up.send(kWord);
    }
    return 0;
  }
};

/// Writes the record of a cell into the window of the visitor, as one that a peer made up: its first one.
inline bool forge(const Visit& visit, std::uint64_t control, std::uint64_t place) {
  const std::uint32_t window = visit.hub.peer(visit.slot).window;
  std::byte* record = visit.hub.window(window);
  store_header(record + 8, header(7));
  hw::store_word(record + kRecordHeader, place);
  hw::publish_word(record, control | (std::uint64_t{1} << 32));
  visit.hub.header().hints.leave(window);
  return true;
}

}  // namespace stria::shm::test
