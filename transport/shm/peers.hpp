// The peers of a device: its links, and which of them has which slot here. A peer takes a slot, writes into
// it what it is, and says hello by the inbox; the device welcomes it, or refuses it, or has to wait for it.
//
//   slot of a peer   free ── claiming ── ready ──► welcome(): a link has it ──► leave() ──► free
//                                          │                                     └──► refused ── gone ──►
//                                          free ├──► refused, which the peer sees └──► awaited: its door does
//                                          not answer yet
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

/// The device's thread.
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

  /// As the contract's connect.
  Result<Link*> connect(const Identity& identity, void* cookie, bool low_latency);
  /// A peer's slot says who it is: adds the incoming half of its link, and the link if it is new. Null:
  /// refused, or it cannot be attached to yet, and the slot stays ready.
  Link* welcome(std::uint32_t slot) noexcept;
  /// The link goes down: its slot is free for others, or stays taken until a peer that still runs is gone.
  void leave(Link& link, bool is_over) noexcept;
  /// Peers whose hello has not come, and slots of those that died, or closed, before they were known.
  void look_at_slots() noexcept;
  /// The peer of that link may have connected, too, and its hello may wait in the inbox.
  void find_slot(Link& link) noexcept;

  /// Null: no link has the slot.
  Link* of_slot(std::uint32_t slot) const noexcept {
    return slot < by_slot_.size() ? by_slot_[slot] : nullptr;
  }
  /// Whether the peer of a slot could not be attached to yet: look_at_slots() tries again, and its records
  /// wait for that.
  bool is_awaited(std::uint32_t slot) const noexcept {
    return !awaited_.empty() && awaited_.find(slot) != awaited_.end();
  }
  /// A record of a peer that is awaited, out of the way of others'. False: as many as the inbox has are kept.
  bool keep_record(std::uint32_t slot, const InboxSlot& record) noexcept;
  /// Whether the peer that claimed an inbox slot will never publish it. That it was refused does not say so.
  bool is_claimant_gone(std::uint32_t slot) const noexcept;
  /// For the end of a key: whether a pin in that slot may still be in use. The peer need not have been
  /// welcomed yet.
  bool is_accessor_alive(std::uint32_t slot) const noexcept;
  bool has_slot_here(const Link& link) const noexcept;

 private:
  /// A peer that said hello, and whose door does not answer, or for which this process has no descriptor.
  struct Awaited {
    struct Record {
      std::uint64_t control;
      std::array<std::byte, sizeof InboxSlot::bytes> bytes;
    };
    Unanswered question;
    std::vector<Record> records;  // that it sent by the inbox
  };

  Link* make_link(std::uint32_t slot, const Identity& identity);
  Identity identity_of(std::uint32_t slot) const noexcept;
  Link* refuse(std::uint32_t slot) noexcept;
  void forget(std::uint32_t slot) noexcept;
  void free_slot(std::uint32_t slot) noexcept;
  bool has_room_for(const Identity& identity) const;

  const Parts parts_;
  Links links_;
  std::vector<Link*> by_slot_;
  std::map<std::uint32_t, Awaited> awaited_;  // by slot
};

}  // namespace stria::shm
