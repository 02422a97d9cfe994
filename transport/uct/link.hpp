// A link to one remote device. It sends by an endpoint of UCX; incoming packets name the link by their prefix
// (packets.hpp).
//
//   connecting side:  hello ──► ... ◄── welcome, or the peer's own hello        the link is up
//   accepting side:   ... ◄── hello   welcome ──►                               the link is up
//
// The link of a device to itself does not send by UCX: its packets lie in Shared::loop until the device's
// next call of progress.
#pragma once

#include <uct/api/uct.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/intrusive_list.hpp"
#include "transport/contract.hpp"
#include "transport/uct/address.hpp"
#include "transport/uct/asking.hpp"
#include "transport/uct/keys.hpp"
#include "transport/uct/operations.hpp"
#include "transport/uct/pack_buffer.hpp"
#include "transport/uct/packets.hpp"
#include "transport/uct/shared.hpp"
#include "transport/uct/whereabouts.hpp"

namespace stria::uct {

class Link {
 public:
  Link(Shared& shared, Address peer, Prefix own)
      : shared_(shared), peer_(std::move(peer)), own_prefix_(own) {}

  // Calls of the provider contract (transport/contract.hpp).
  Status pio_send(const transport::Header& header, const void* payload, std::uint32_t bytes) noexcept;
  Status eager_send(const transport::Header& header, const transport::Payload& payload) noexcept;
  Status zcopy_send(const transport::Header& header, const transport::Payload& payload,
                    transport::Completion* completion) noexcept;
  Status get(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
             transport::Completion* completion) noexcept;
  Status put(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
             transport::Completion* completion) noexcept;
  Status get_finish(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                    const transport::Header& header, transport::Completion* completion) noexcept;
  Status atomic(const transport::Atomic& atomic, const transport::Key& key,
                transport::Completion* completion) noexcept;
  Status send_invalidate(const transport::Header& header, const void* payload, std::uint32_t bytes,
                         const transport::Key& key) noexcept;
  void release(std::uint64_t keep) noexcept;
  /// All bytes of a kept payload are there: UCX delivers whole messages.
  std::uint32_t kept_arrived(std::uint64_t, std::uint32_t all, std::uint32_t) const noexcept { return all; }
  void limits(transport::LinkLimits& out) const noexcept;
  bool is_coming() const noexcept { return !is_up(); }

  const Address& peer() const noexcept { return peer_; }
  /// The prefix that the peer puts before its packets to this link.
  Prefix own_prefix() const noexcept { return own_prefix_; }
  /// The prefix that this link puts before its packets.
  Prefix peer_prefix() const noexcept { return peer_prefix_; }
  bool knows_peer() const noexcept { return peer_prefix_.bits() != 0; }
  void set_peer_prefix(Prefix prefix) noexcept { peer_prefix_ = prefix; }
  bool is_up() const noexcept { return knows_peer() && (owed & kConnecting) == 0; }
  /// Makes this the link of the device to itself.
  void be_own() noexcept { is_own_ = true, peer_prefix_ = own_prefix_; }
  bool is_own() const noexcept { return is_own_; }

  /// Sends a control message, also while the link is not up or is dying.
  Status send_control(const void* message, std::size_t bytes) noexcept;

  /// Sends a packet that also ends a key of the peer: the one with this name.
  Status send_closing(const transport::Header& header, const void* payload, std::uint32_t bytes,
                      std::uint32_t key_name) noexcept;
  /// Sends a packet whose payload UCX reads from `runs`, the caller's memory. IN_PROGRESS: UCX calls
  /// `completion` when it has read the payload.
  Status send_out_of(const transport::Header& header, const uct_iov_t* runs, std::size_t count,
                     uct_completion_t* completion) noexcept;
  /// Called when UCX has ended an operation of the link.
  void ended(Operation& operation, Status status) noexcept { shared_.operations->end(operation, status); }
  /// Ends the link because UCX reported `status` for its endpoint. Returns the status for the call that found
  /// it: PEER_FAILED.
  Status fail(ucs_status_t status) noexcept;

  // Bits of `owed`, which Peers works off: the endpoint is still to be made, or the message to be sent.
  static constexpr unsigned kEndpoint = 1, kHello = 2, kWelcome = 4, kBye = 8, kParted = 16;
  static constexpr unsigned kConnecting = kEndpoint | kHello | kWelcome;
  unsigned owed = 0;
  bool peer_left = false;                   ///< the peer has sent bye or parted
  std::uint64_t since_ms = 0;               ///< when the link was opened
  IntrusiveList<Operation> operations;      ///< those under way
  IntrusiveList<OwnKey> keys;               ///< keys of this device that were made for the peer
  std::unique_ptr<PackBuffer> pack_buffer;  ///< null: not needed yet
  std::size_t kept = 0;                     ///< payloads of the link that the worker keeps
  bool retired = false;  ///< taken down; exists only until the worker gives back what it keeps

  // For those that look after links: Links, Peers, Ends.
  void* cookie = nullptr;       ///< names the link in upcalls to the worker
  uct_ep_h endpoint = nullptr;  ///< the link of a device to itself uses it for gets, puts and atomics alone
  OwnEndpoint echo;  ///< of the link to itself: what `endpoint` is joined with; null: joined with nothing
  std::unique_ptr<Ask> ask;  ///< asks the peer to join endpoints; null: it is not being asked
  Watch watch;
  bool dying = false;
  bool broken = false;      ///< the endpoint is not usable: nothing can be sent any more
  Status why = Status::ok;  ///< why the link is dying
  std::uint64_t dying_since_ms = 0;

 private:
  Status can_send() const noexcept;
  std::uint32_t zcopy_max() const noexcept { return std::min(shared_.limits.zcopy_max, peer_.zcopy_bytes); }
  Status answer(ucs_status_t status) noexcept;
  Status send_packed(const transport::Header& header, const transport::Payload& payload) noexcept;
  std::byte* append_to_loop(Am id, const transport::Header& header, std::size_t bytes) noexcept;

  Shared& shared_;
  const Address peer_;
  const Prefix own_prefix_;
  Prefix peer_prefix_;
  bool is_own_ = false;   // the link of the device to itself
  bool is_full_ = false;  // the last packet was refused
};

}  // namespace stria::uct
