// The rendezvous engine of one worker: starts, advances and ends the operations of operation.hpp. The class
// is the front that the worker calls; what it does is in its parts, each of which has its own state and names
// what it may touch (README.md has the table).
//
// An operation belongs to one link of its peer, which also carries its RTS and FIN and whose death is the
// peer's: the one that a function is given as `link`. Further links of the peer (rails) are named beside it
// where it matters which one a packet came by.
//
// Whatever cannot be sent at once stays in the active list and is tried again by progress(), so that nothing
// is ever lost to back-pressure. Every function that ends an operation calls the owner's event last: the
// owner may free or reuse the operation, and start others, inside it.
#pragma once

#include <cstdint>

#include "rndv/acceptor.hpp"
#include "rndv/announcer.hpp"
#include "rndv/ends.hpp"
#include "rndv/fragments.hpp"
#include "rndv/operation.hpp"
#include "rndv/operations.hpp"
#include "rndv/options.hpp"
#include "rndv/owner.hpp"
#include "rndv/piece_sender.hpp"
#include "rndv/pools.hpp"
#include "rndv/putter.hpp"
#include "rndv/rail_keys.hpp"
#include "rndv/rail_reader.hpp"
#include "rndv/reader.hpp"
#include "rndv/requests.hpp"
#include "rndv/served_access.hpp"
#include "rndv/streamer.hpp"

namespace stria::rndv {

/// Threads: the worker's lock is held above.
class Engine {
 public:
  Engine(const Options& options, const Events& events) noexcept;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Sends the RTS for op (memory, length and link set). ok: announced. no_resource: call again; what was
  /// prepared is kept in op. Anything else: the operation did not start.
  Status announce(SendOp& op, const transport::Header& header) noexcept {
    return announcer_.announce(op, header);
  }

  /// Starts receiving what was announced into op.memory (link and length set, length <= announcement.length).
  /// May end the operation before it returns; what is read from here is read by progress().
  void accept(RecvOp& op, const Announcement& announcement) noexcept { acceptor_.accept(op, announcement); }

  /// For a synchronous message that goes at once, with this number: the operation ends with the receiver's
  /// FIN. The flags of its header; 0: no slot is left for it, or no memory. abandon() takes it back.
  std::uint8_t await_match(SendOp& op, std::uint16_t sequence) noexcept {
    return announcer_.await_match(op, sequence);
  }
  /// Its other half: a receive has the message, and the sender is to hear of it. False: out of memory.
  [[nodiscard]] bool confirm_match(const transport::LinkRef& link, wire::SyncName name) noexcept;

  /// Asks the peer's engine for a get (op.length bytes of `region` from `offset` on) or a put.
  void start_remote_get(RecvOp& op, std::uint64_t region, std::uint64_t offset) noexcept {
    served_.start_get(op, region, offset);
  }
  void start_remote_put(SendOp& op, std::uint64_t region, std::uint64_t offset) noexcept {
    served_.start_put(op, region, offset);
  }
  /// The peer's halves; `memory` is the part of the region asked for, `status` why it is refused.
  void serve_get(const transport::LinkRef& link, std::uint64_t region, const wire::RmaBody& body,
                 const transport::Payload& memory, Status status) noexcept {
    served_.serve_get(link, region, body, memory, status);
  }
  void serve_put(const transport::LinkRef& link, std::uint64_t region, const wire::RmaBody& body,
                 const transport::Payload& memory, Status status) noexcept {
    served_.serve_put(link, region, body, memory, status);
  }

  // Packets. One that names no operation under way is dropped: it may have been overtaken by the operation's
  // end. False or `misfit`: it names one and does not fit it, or is no such packet at all, as only a confused
  // peer sends. `later`: nothing changed, its sender stands still while it writes it. `rail`: the rail that
  // it came by; null: it came by the link itself.
  [[nodiscard]] bool on_rtr(const transport::LinkRef& link, const transport::Packet& packet,
                            const transport::LinkRef* rail = nullptr) noexcept {
    return streamer_.on_rtr(link, packet, rail);
  }
  using Taken = rndv::Taken;
  [[nodiscard]] Taken on_frag(const transport::LinkRef& link, const transport::Packet& packet,
                              const transport::LinkRef* rail = nullptr) noexcept {
    return fragments_.on_frag(link, packet, rail);
  }
  void on_fin(const transport::LinkRef& link, const transport::Packet& packet) noexcept;
  [[nodiscard]] bool on_ask_key(const transport::LinkRef& link, const transport::Packet& packet,
                                const transport::LinkRef* rail) noexcept {
    return rail_keys_.on_request(link, packet, rail);
  }
  [[nodiscard]] bool on_end_key(const transport::LinkRef& link, const transport::Packet& packet,
                                const transport::LinkRef* rail) noexcept {
    return rail_keys_.on_end(link, packet, rail);
  }
  [[nodiscard]] bool on_rail_key(const transport::LinkRef& link, const transport::Packet& packet,
                                 const transport::LinkRef* rail) noexcept {
    return rail_reader_.on_key(link, packet, rail);
  }

  /// Where a fragment's payload is to go, before it is there. False: nowhere, the operation has no such
  /// memory, or the fragment does not fit it. `device`: the number of the one whose link it comes by.
  [[nodiscard]] bool place(const transport::LinkRef& link, std::uint8_t device,
                           const transport::Header& header, std::uint32_t bytes, transport::Payload& memory,
                           const transport::LinkRef* rail = nullptr) noexcept {
    return fragments_.place(link, device, header, bytes, memory, rail);
  }
  /// It is there. Also of a link whose peer was given up.
  [[nodiscard]] Taken on_placed(const transport::LinkRef& link, const transport::Packet& packet,
                                const transport::LinkRef* rail = nullptr) noexcept {
    return fragments_.on_placed(link, packet, rail);
  }
  /// The link of this device is dead: nothing is placed by it any more. Comes after fail_link or fail_rail.
  void end_placing(const transport::LinkRef& link, std::uint8_t device) noexcept {
    fragments_.end_placing(link, device);
  }

  /// Reads an RTS's body; false when it is malformed.
  static bool parse_announcement(const transport::Packet& packet, Announcement& out) noexcept;

  /// Advances everything in the active list once. Returns how many operations moved.
  unsigned progress() noexcept;
  /// Nothing is under way at all.
  bool idle() const noexcept { return operations_.idle(); }
  /// As Question's.
  bool flows() const noexcept { return options_.flows; }
  /// Bytes that one side copies before it looks after others.
  std::uint64_t pull_slice() const noexcept { return options_.pull_slice; }
  /// progress() has nothing to do: everything under way waits for a peer.
  bool resting() const noexcept { return operations_.resting() && pieces_.resting(); }

  /// Ends every operation of the link with `why`. The link is down: nothing begins on it any more. Returns
  /// how many steps that took, which is linear in the number of operations under way, of all links.
  std::uint64_t fail_link(const transport::LinkRef& link, Status why) noexcept {
    return ends_.fail_link(link, why);
  }
  /// A rail of the link's peer is dead. Nothing ends: what it was to bring is asked of the other links.
  void fail_rail(const transport::LinkRef& link, const transport::LinkRef& rail) noexcept {
    pieces_.fail_link(rail);
    requests_.fail_rail(link, rail);
    rail_reader_.fail_rail(link, rail);
    rail_keys_.fail_rail(link, rail);
  }
  /// Ends whatever is still under way; only after the provider is closed, which writes no memory any more.
  void end_all(Status why) noexcept { ends_.end_all(why); }
  /// Whether a peer's put or get is under way on `region`.
  bool region_busy(std::uint64_t region) noexcept { return operations_.region_busy(region); }
  /// Takes a waiting send back.
  void abandon(SendOp& op) noexcept { ends_.abandon(op); }
  const Counters& counters() const noexcept { return owner_.counters; }

 private:
  bool step(Operation& op) noexcept;  // true when something moved

  const Options options_;
  Owner owner_;
  Operations operations_;
  Pools pools_;
  Ends ends_;
  PieceSender pieces_;
  Putter putter_;
  Streamer streamer_;
  Announcer announcer_;
  Requests requests_;
  Fragments fragments_;
  Reader reader_;
  RailKeys rail_keys_;
  RailReader rail_reader_;
  Acceptor acceptor_;
  ServedAccess served_;
};

}  // namespace stria::rndv
