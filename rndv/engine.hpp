// The rendezvous engine of one worker: starts, advances and ends the operations of operation.hpp. The class
// is the interface that the worker calls; its parts do the work, each with its own state (README.md has a
// table of the parts).
//
// An operation belongs to the main link of its peer, which also carries its RTS and FIN, and whose death
// counts as the peer's. The functions are given this link as `link`. Where it matters by which link a packet
// came, they are given the further link of the peer (`rail`) as well.
//
// When a packet cannot be sent at once, its operation stays in the active list, and progress() tries again:
// back-pressure loses nothing. Every function that ends an operation calls the owner's upcall last: the owner
// may free or reuse the operation, and start others, before the upcall returns.
#pragma once

#include <cstdint>

#include "rndv/acceptor.hpp"
#include "rndv/announcer.hpp"
#include "rndv/common.hpp"
#include "rndv/finisher.hpp"
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

/// Threads: called with the worker's lock held.
class Engine {
 public:
  Engine(const Options& options, const Events& events) noexcept;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Sends the RTS for op (memory, length and link set). ok: announced. no_resource: no room; call again,
  /// what was prepared is kept in op. Anything else: the operation did not start.
  Status announce(SendOp& op, const transport::Header& header) noexcept {
    return announcer_.announce(op, header);
  }

  /// Starts to receive the announced message into op.memory (link and length set, length <=
  /// announcement.length). May end the operation before it returns. Gets begin in progress(), not here.
  void accept(RecvOp& op, const Announcement& announcement) noexcept { acceptor_.accept(op, announcement); }

  /// Prepares op for a synchronous message that goes eagerly, with this sequence number: the operation ends
  /// with the receiver's FIN. Returns the flags for the message's header; 0: no slot is left for the
  /// operation, or no memory. abandon() undoes it.
  std::uint8_t await_match(SendOp& op, std::uint16_t sequence) noexcept {
    return announcer_.await_match(op, sequence);
  }
  /// Tells the sender of the synchronous message `name` that a receive has the message. False: out of memory.
  [[nodiscard]] bool confirm_match(const transport::LinkRef& link, wire::SyncName name) noexcept;

  /// Asks the peer's engine to serve a get (op.length bytes of `region` from `offset` on) or a put.
  void start_remote_get(RecvOp& op, std::uint64_t region, std::uint64_t offset) noexcept {
    served_.start_get(op, region, offset);
  }
  void start_remote_put(SendOp& op, std::uint64_t region, std::uint64_t offset) noexcept {
    served_.start_put(op, region, offset);
  }
  /// Serves a get or a put that a peer asks for. `memory` is the part of the region asked for; `status`: ok,
  /// or why the access is refused.
  void serve_get(const transport::LinkRef& link, std::uint64_t region, const wire::RmaBody& body,
                 const transport::Payload& memory, Status status) noexcept {
    served_.serve_get(link, region, body, memory, status);
  }
  void serve_put(const transport::LinkRef& link, std::uint64_t region, const wire::RmaBody& body,
                 const transport::Payload& memory, Status status) noexcept {
    served_.serve_put(link, region, body, memory, status);
  }

  // Packets of peers. A packet that names no operation under way is dropped: the end of the operation may
  // have overtaken it. False or `misfit`: the packet does not fit the operation that it names, or is
  // malformed, as only a confused peer sends it. `later`: nothing changed, as the sender stands still while
  // it writes the packet; the packet will be delivered again. `rail`: the rail by which the packet came;
  // null: the main link.
  [[nodiscard]] bool on_rtr(const transport::LinkRef& link, const transport::Packet& packet,
                            const transport::LinkRef* rail = nullptr) noexcept {
    return streamer_.on_rtr(link, packet, rail);
  }
  using FragmentOutcome = rndv::FragmentOutcome;
  [[nodiscard]] FragmentOutcome on_frag(const transport::LinkRef& link, const transport::Packet& packet,
                                        const transport::LinkRef* rail = nullptr) noexcept {
    return fragments_.on_frag(link, packet, rail);
  }
  void on_fin(const transport::LinkRef& link, const transport::Packet& packet) noexcept;
  [[nodiscard]] bool on_ask_key(const transport::LinkRef& link, const transport::Packet& packet,
                                const transport::LinkRef* rail) noexcept {
    return rail_keys_.on_ask_key(link, packet, rail);
  }
  [[nodiscard]] bool on_end_key(const transport::LinkRef& link, const transport::Packet& packet,
                                const transport::LinkRef* rail) noexcept {
    return rail_keys_.on_end_key(link, packet, rail);
  }
  [[nodiscard]] bool on_rail_key(const transport::LinkRef& link, const transport::Packet& packet,
                                 const transport::LinkRef* rail) noexcept {
    return rail_reader_.on_rail_key(link, packet, rail);
  }

  /// Names the memory for the payload of a fragment, before the payload has come. False: none, because the
  /// operation has no such memory, or the fragment does not fit the operation.
  [[nodiscard]] bool place(const transport::LinkRef& link, const IncomingFragment& fragment,
                           transport::Payload& memory) noexcept {
    return fragments_.place(link, fragment, memory);
  }
  /// The payload of a fragment for which place() named memory is there. May also come on a link whose peer
  /// was given up.
  [[nodiscard]] FragmentOutcome on_placed(const transport::LinkRef& link, const transport::Packet& packet,
                                          const transport::LinkRef* rail = nullptr) noexcept {
    return fragments_.on_placed(link, packet, rail);
  }
  /// The peer's link by this device is dead: nothing is placed by it any more. To be called after fail_link()
  /// or fail_rail().
  void end_placing(const transport::LinkRef& link, std::uint8_t device) noexcept {
    fragments_.end_placing(link, device);
  }

  /// Parses the body of an RTS; false when it is malformed.
  static bool parse_announcement(const transport::Packet& packet, Announcement& out) noexcept;

  /// Advances every active operation once, and the pieces that are being sent. Returns how many of them
  /// moved.
  unsigned progress() noexcept;
  /// No operation is under way.
  bool idle() const noexcept { return operations_.idle(); }
  /// Whether fragments flow between far caches (MessageFacts::flows in cost_model.hpp).
  bool flows() const noexcept { return options_.flows; }
  /// Most bytes that one side copies before it handles other traffic.
  std::uint64_t pull_slice() const noexcept { return options_.pull_slice; }
  /// progress() has nothing to do: everything under way waits for a peer.
  bool resting() const noexcept { return operations_.resting() && pieces_.resting(); }

  /// Ends every operation of the link with `why`. The link is down: nothing begins on it any more. Returns
  /// how many steps that took, which is linear in the number of operations under way, of all links.
  std::uint64_t fail_link(const transport::LinkRef& link, Status why) noexcept {
    return finisher_.fail_link(link, why);
  }
  /// A rail of the link's peer is dead. The bytes that it was to bring are asked of the other links; sends
  /// that waited only for the end of the rail's key end.
  void fail_rail(const transport::LinkRef& link, const transport::LinkRef& rail) noexcept {
    pieces_.fail_link(rail);
    requests_.fail_rail(link, rail);
    rail_reader_.fail_rail(link, rail);
    rail_keys_.fail_rail(link, rail);
  }
  /// Ends every operation that is still in a list. To be called only after the providers are closed, which
  /// write no memory any more.
  void end_all(Status why) noexcept { finisher_.end_all(why); }
  /// Whether a peer's put or get is under way on `region`.
  bool region_busy(std::uint64_t region) noexcept { return operations_.region_busy(region); }
  /// Takes back a send that announce() or await_match() began, without an upcall.
  void abandon(SendOp& op) noexcept { finisher_.abandon(op); }
  const Counters& counters() const noexcept { return owner_.counters; }

 private:
  Common common() noexcept { return {options_, operations_, finisher_, owner_}; }
  bool step(Operation& op) noexcept;  // true when something moved

  const Options options_;
  Owner owner_;
  Operations operations_;
  Pools pools_;
  Finisher finisher_;
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
