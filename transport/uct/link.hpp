// A connection to one remote device: an endpoint of UCX for what goes out. What comes in names the link by
// its prefix (packets.hpp).
//
//   asks:      hello ──► ... ◄── welcome, or the peer's own hello        up
//   is asked:  ... ◄── hello   welcome ──►                               up
//
// A link of the device to itself sends past UCX: its packets lie in Shared::loop until progress.
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
#include "transport/uct/packets.hpp"
#include "transport/uct/shared.hpp"
#include "transport/uct/whereabouts.hpp"

namespace stria::uct {

class Link {
 public:
  Link(Shared& shared, Address peer, Prefix own) : shared_(shared), peer_(std::move(peer)), own_(own) {}

  // The contract.
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
  /// What is delivered is there as a whole.
  std::uint32_t kept_arrived(std::uint64_t, std::uint32_t all, std::uint32_t) const noexcept { return all; }
  void limits(transport::LinkLimits& out) const noexcept;
  bool is_coming() const noexcept { return !is_up(); }

  const Address& peer() const noexcept { return peer_; }
  Prefix own_prefix() const noexcept { return own_; }
  Prefix peer_prefix() const noexcept { return theirs_; }
  bool knows_peer() const noexcept { return theirs_.bits() != 0; }
  void set_peer_prefix(Prefix prefix) noexcept { theirs_ = prefix; }
  bool is_up() const noexcept { return knows_peer() && (owed & kConnecting) == 0; }
  void be_own() noexcept { is_own_ = true, theirs_ = own_; }
  bool is_own() const noexcept { return is_own_; }

  /// Sends a control message.
  Status send_control(const void* message, std::size_t bytes) noexcept;

  /// Sends a packet that ends the peer's key of this name.
  Status send_closing(const transport::Header& header, const void* payload, std::uint32_t bytes,
                      std::uint32_t key_name) noexcept;
  /// Sends a packet out of memory, for zcopy. IN_PROGRESS: `completion` is called.
  Status send_out_of(const transport::Header& header, const uct_iov_t* runs, std::size_t count,
                     uct_completion_t* completion) noexcept;
  /// UCX has ended an operation of the link.
  void ended(Operation& operation, Status status) noexcept { shared_.operations->end(operation, status); }
  /// UCX says that the endpoint is of no use any more: the link ends. Returns what its operations answer.
  Status fail(ucs_status_t status) noexcept;

  // What is still to be made, and what the peer is still to be told, for Peers.
  static constexpr unsigned kEndpoint = 1, kHello = 2, kWelcome = 4, kBye = 8, kParted = 16;
  static constexpr unsigned kConnecting = kEndpoint | kHello | kWelcome;
  unsigned owed = 0;
  bool peer_left = false;  ///< it said bye, or parted
  std::uint64_t since_ms = 0;
  IntrusiveList<Operation> operations;  ///< under way
  IntrusiveList<OwnKey> keys;           ///< of this device, for the peer
  std::size_t kept = 0;                 ///< payloads that the worker has kept
  bool retired = false;                 ///< taken down, and here only for what is kept

  // For those that look after links: Links, Peers, Ends.
  void* cookie = nullptr;
  uct_ep_h endpoint = nullptr;  ///< of the link to oneself: for accesses alone
  OwnEndpoint echo;             ///< that the link to oneself is joined with; null: none
  std::unique_ptr<Ask> ask;     ///< of an endpoint that is to be joined with the peer's; null: none
  Watch watch;
  bool dying = false;
  bool broken = false;  ///< nothing can be sent any more
  Status why = Status::ok;
  std::uint64_t dying_since_ms = 0;

 private:
  Status can_send() const noexcept;
  std::uint32_t zcopy_max() const noexcept { return std::min(shared_.limits.zcopy_max, peer_.zcopy_bytes); }
  Status answer(ucs_status_t status) noexcept;
  std::byte* append_to_loop(Am id, const transport::Header& header, std::size_t bytes) noexcept;

  Shared& shared_;
  const Address peer_;
  const Prefix own_;
  Prefix theirs_;
  bool is_own_ = false;
  bool is_full_ = false;  // the last packet was refused
};

}  // namespace stria::uct
