// A link: this device's connection to one remote device. It has three parts, each with its own state, and
// the peer's segment, to which all three refer:
//
//   Outgoing      what this device sends        PeerSegment   the peer's memory that is mapped here,
//   Incoming      what the peer sends                         and this device's slot in it
//   RemoteAccess  gets, puts and atomics
//
// All of a link is private memory. What a send touches lies in the first cache lines of the object.
#pragma once

#include <cstdint>

#include "transport/contract.hpp"
#include "transport/shm/incoming.hpp"
#include "transport/shm/outgoing.hpp"
#include "transport/shm/peer_segment.hpp"
#include "transport/shm/remote_access.hpp"

namespace stria::shm {

class Texts;

/// Threads: the thread that uses its device.
class alignas(kCacheLine) Link {
 public:
  explicit Link(Shared& shared) noexcept
      : outgoing_(shared, peer_), incoming_(shared, peer_), access_(shared, peer_) {}
  // Calls of the provider contract (transport/contract.hpp).
  /// Sends a packet as a record in the peer's window; a long payload may take a cell instead, where that is
  /// faster. no_resource: no room; unsupported: the link has no window.
  Status pio_send(const transport::Header& header, const void* payload, std::uint32_t bytes) noexcept {
    return outgoing_.pio_send(header, payload, bytes);
  }
  /// Packs a payload into the window where it fits, or into an inbox slot without a window, else into a
  /// cell. no_resource: no line, no inbox slot, or no cell is free; unsupported: there is no cell, and none
  /// is under way to this peer that could come back.
  Status eager_send(const transport::Header& header, const transport::Payload& payload) noexcept {
    return outgoing_.eager_send(header, payload);
  }
  /// Sends a packet before whose delivery the peer ends `key`, which is a key of the peer.
  Status send_invalidate(const transport::Header& header, const void* payload, std::uint32_t bytes,
                         const transport::Key& key) noexcept {
    return outgoing_.send_invalidate(header, payload, bytes, key);
  }
  // get(), put() and atomic() are synchronous: they answer ok or an error, never in_progress.
  Status get(const transport::Payload& local, const transport::Key& key, std::uint64_t remote_offset,
             transport::Completion* /*completion*/) noexcept {
    return access_.get(local, key, remote_offset);
  }
  Status put(const transport::Payload& local, const transport::Key& key, std::uint64_t remote_offset,
             transport::Completion* /*completion*/) noexcept {
    return access_.put(local, key, remote_offset);
  }
  /// This CPU performs the atomic, where the peer's memory belongs to this process or is mapped here; else
  /// unsupported.
  Status atomic(const transport::Atomic& atomic, const transport::Key& key,
                transport::Completion* /*completion*/) noexcept {
    return access_.atomic(atomic, key);
  }
  void limits(transport::LinkLimits& out) noexcept;
  /// Delivers up to `budget` records of the window that the peer writes to; returns how many.
  unsigned poll(unsigned budget) noexcept { return incoming_.poll(budget); }
  /// Receives the next packet of the window that the peer writes to, if its header is `wanted`, without
  /// delivering it. Returns the bytes of its payload, or STRIA_TAKE_*.
  std::int32_t take(transport::Header& wanted, void* memory, std::uint32_t capacity) noexcept {
    return incoming_.take(wanted, memory, capacity);
  }
  /// Gives the cell of a payload back that the sink kept there under the name `keep`.
  void release(std::uint64_t keep) noexcept { incoming_.release(keep); }
  /// Waits a little until `bytes` of a kept payload of `all` bytes are there; returns how many are.
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
  /// Renews the text about the paths that the link uses (LinkLimits::path).
  void describe(Texts& texts) noexcept;

 private:
  Outgoing outgoing_;
  Incoming incoming_;
  PeerSegment peer_;
  RemoteAccess access_;
  const char* path_ = "";

 public:
  // For Links and Peers, which look after links.
  std::uint32_t place = 0;             ///< index among the living links; when the link is down: see Links
  std::uint32_t refused_slot = kNone;  ///< the slot here of a peer that was given up but may still read
};

}  // namespace stria::shm
