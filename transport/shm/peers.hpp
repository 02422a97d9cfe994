// The peers of a device: its links, and which link has which peer slot. A peer claims a slot in this
// device's segment, writes its identity into it, and says hello through the inbox. The device then accepts
// the peer, refuses it, or waits for it.
//
//   peer slot   free ── claiming ── ready ──► accept(): a link has it ──► leave() ──► free
//                                     │                                      └──► refused ──► free
//                                     ├──► refused ──► free
//                                     └──► awaited: its door does not answer yet; look_at_slots() tries again
//
// A peer sees that its slot is refused. A refused slot is free again when the peer is gone.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "base/result.hpp"
#include "transport/shm/connector.hpp"
#include "transport/shm/inbox.hpp"
#include "transport/shm/key_maker.hpp"
#include "transport/shm/link.hpp"
#include "transport/shm/links.hpp"
#include "transport/shm/shared.hpp"

namespace stria::shm {

class Receiver;

/// Threads: the device's thread only.
class Peers {
 public:
  struct Parts {
    Shared& shared;
    Connector& connector;
    KeyMaker& keys;
    Receiver& receiver;
  };
  explicit Peers(const Parts& parts) noexcept : parts_(parts) {}
  Links& links() noexcept { return links_; }

  /// Returns the link to the device `identity`, and makes it if there is none; `cookie`: the sink's name for
  /// it. Errors: unreachable; peer_failed (its process ended or its device closed).
  Result<Link*> connect(const Identity& identity, void* cookie, bool low_latency);
  /// Gives the peer of a ready slot its link: adds the incoming part to the link, which is made if it is
  /// new. Null: the peer is refused, or cannot be attached yet, and then the slot stays ready.
  Link* accept(std::uint32_t slot) noexcept;
  /// Removes a link that goes down. Its peer slot is freed if the peer is gone (`is_over`), and otherwise
  /// refused until it is.
  void leave(Link& link, bool is_over) noexcept;
  /// Looks at every peer slot without a link: accepts a peer whose hello has not come, or that is awaited,
  /// and frees the slot of a peer that is gone.
  void look_at_slots() noexcept;
  /// Finds the slot of a link's peer, if the peer has connected, too, and its hello still waits in the
  /// inbox.
  void find_slot(Link& link) noexcept;

  /// The link that has the slot; null: none.
  Link* of_slot(std::uint32_t slot) const noexcept {
    return slot < by_slot_.size() ? by_slot_[slot] : nullptr;
  }
  /// Whether the peer of a slot could not be attached yet. look_at_slots() tries again; records of the peer
  /// are kept until then (keep_record()).
  bool is_awaited(std::uint32_t slot) const noexcept {
    return !awaited_.empty() && awaited_.find(slot) != awaited_.end();
  }
  /// Copies a record of an awaited peer out of the inbox, so that records of other peers pass. False: as
  /// many records as the inbox has slots are kept already, or there is no memory.
  bool keep_record(std::uint32_t slot, const InboxSlot& record) noexcept;
  /// Whether the peer of `slot` may still write to this device's memory: publish a record in an inbox slot
  /// that it claimed, or end an access by a key, for which KeyMaker::invalidate() waits. The peer may have no
  /// link yet, or was refused.
  bool may_write(std::uint32_t slot) const noexcept;
  /// Whether the peer of a link has a ready slot here, accepted or not.
  bool has_slot_here(const Link& link) const noexcept;

 private:
  /// A peer that said hello, and whose door does not answer, or for which this process has no descriptor.
  struct Awaited {
    struct Record {
      std::uint64_t control;
      std::array<std::byte, sizeof InboxSlot::bytes> bytes;
    };
    PendingAttach pending;
    std::vector<Record> records;  // that the peer sent through the inbox
  };

  Link* make_link(std::uint32_t slot, const Identity& identity);
  Link* refuse(std::uint32_t slot) noexcept;
  void forget(std::uint32_t slot) noexcept;
  void free_slot(std::uint32_t slot) noexcept;
  bool has_room_for(const Identity& identity) const;

  const Parts parts_;
  Links links_;
  std::vector<Link*> by_slot_;                // by peer slot; null: no link
  std::map<std::uint32_t, Awaited> awaited_;  // by slot
};

}  // namespace stria::shm
