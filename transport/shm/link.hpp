// A link: this device's way to one remote device. It has three parts with a state of their own, and what all
// three refer to, the peer's segment:
//
//   Outgoing      what this device sends        PeerSegment   the peer's memory that is mapped here,
//   Incoming      what the peer sends                         and this device's slot in it
//   RemoteAccess  gets, puts and atomics
//
// What a send touches lies in the first lines of the object; all of it is private memory.
#pragma once

#include <cstdint>

#include "transport/contract.hpp"
#include "transport/shm/incoming.hpp"
#include "transport/shm/outgoing.hpp"
#include "transport/shm/peer_segment.hpp"
#include "transport/shm/remote_access.hpp"

namespace stria::shm {

class Texts;

/// One thread at a time, with its device.
class alignas(kCacheLine) Link {
 public:
  explicit Link(Shared& shared) noexcept
      : outgoing_(shared, peer_), incoming_(shared, peer_), access_(shared, peer_) {}
  // The contract.
  /// Record in the peer's window: header and payload stored by the CPU. unsupported: the link has no window.
  Status pio_send(const transport::Header& header, const void* payload, std::uint32_t bytes) noexcept {
    return outgoing_.pio_send(header, payload, bytes);
  }
  /// Packed into the window where it fits, else into a cell. no_resource: no line, no inbox slot, or no cell.
  Status eager_send(const transport::Header& header, const transport::Payload& payload) noexcept {
    return outgoing_.eager_send(header, payload);
  }
  Status send_invalidate(const transport::Header& header, const void* payload, std::uint32_t bytes,
                         const transport::Key& key) noexcept {
    return outgoing_.send_invalidate(header, payload, bytes, key);
  }
  /// Synchronous: ok or an error, never in_progress.
  Status get(const transport::Payload& local, const transport::Key& key, std::uint64_t remote_offset,
             transport::Completion* /*completion*/) noexcept {
    return access_.get(local, key, remote_offset);
  }
  Status put(const transport::Payload& local, const transport::Key& key, std::uint64_t remote_offset,
             transport::Completion* /*completion*/) noexcept {
    return access_.put(local, key, remote_offset);
  }
  /// By this CPU, where the peer's memory is this process's or mapped.
  Status atomic(const transport::Atomic& atomic, const transport::Key& key,
                transport::Completion* /*completion*/) noexcept {
    return access_.atomic(atomic, key);
  }
  void limits(transport::LinkLimits& out) noexcept;
  /// What lies in the window that the peer writes to.
  unsigned poll(unsigned budget) noexcept { return incoming_.poll(budget); }
  /// The packet that lies next in that window, if it is the one that is wanted.
  std::int32_t take(transport::Header& wanted, void* memory, std::uint32_t capacity) noexcept {
    return incoming_.take(wanted, memory, capacity);
  }
  /// Of a payload that the sink kept in its cell.
  void release(std::uint64_t keep) noexcept { incoming_.release(keep); }
  std::uint32_t kept_arrived(std::uint64_t keep, std::uint32_t all, std::uint32_t bytes) noexcept {
    return incoming_.kept_arrived(keep, all, bytes);
  }

  // Its parts.
  Outgoing& outgoing() noexcept { return outgoing_; }
  const Outgoing& outgoing() const noexcept { return outgoing_; }
  Incoming& incoming() noexcept { return incoming_; }
  const Incoming& incoming() const noexcept { return incoming_; }
  PeerSegment& peer() noexcept { return peer_; }
  const PeerSegment& peer() const noexcept { return peer_; }
  RemoteAccess& access() noexcept { return access_; }
  /// Says anew which ways the link goes.
  void describe(Texts& texts) noexcept;

 private:
  Outgoing outgoing_;
  Incoming incoming_;
  PeerSegment peer_;
  RemoteAccess access_;
  const char* path_ = "";

 public:
  // For those that look after links: Links and Peers.
  std::uint32_t place = 0;             ///< among the device's living links; of one that is down: see Links
  std::uint32_t refused_slot = kNone;  ///< the slot here of a peer that was given up, and may still read
};

}  // namespace stria::shm
