// The sending half of a connection. A record goes straight to the system if nothing waits before it, or waits
// in a buffer for others: for room, for flush(), or for a deadline that the kernel keeps.
//
//   at once ──► the system ── no room ──► the buffer ── flush() ──► the system
//   waits   ──► the buffer ── flush(), a record that does not wait, enough of them, or the deadline ──► the
//   system
//
// What has gone is retained until the peer's system acknowledges it. A connection that fails is one without
// room: the receiving side hears of its end, and the stream may go on over another connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "base/fd.hpp"
#include "transport/contract.hpp"
#include "transport/tcp/byte_queue.hpp"
#include "transport/tcp/late_send.hpp"
#include "transport/tcp/padded_records.hpp"
#include "transport/tcp/record.hpp"
#include "transport/tcp/retained.hpp"

namespace stria::tcp {

class Outgoing {
 public:
  /// Whether a record may wait for others. Without a keeper flush() is to follow in the same call of the
  /// library; with one the application may compute before it.
  struct When {
    bool waits = false;
    KernelQueue* keeper = nullptr;  ///< of the deadline
  };
  /// How long a record waits for others while the application computes: about as long as ten calls of send.
  static constexpr std::chrono::nanoseconds kDelay = std::chrono::microseconds(50);
  /// `retained`: of Retained. `link`: what the kernel's queue tells when a deadline has passed.
  Outgoing(BufferPool& pool, BufferPool& retained, const stria_services_t& services, Token link,
           std::chrono::nanoseconds delay = kDelay) noexcept
      : queue_(pool), services_(services), delay_(delay), late_(link), retained_(retained) {}

  /// OK: the payload's memory is the caller's again. NO_RESOURCE: nothing of it went, or waits. PEER_FAILED:
  /// nothing will go any more.
  Status send(const UniqueFd& socket, const transport::Header& header, const transport::Payload& payload,
              When when) noexcept;
  /// A record whose payload is one part behind the other, 4 KiB at most.
  struct Short {
    RecordKind kind{};
    transport::Header header{};
    std::span<const std::byte> first;
    std::span<const std::byte> second;
  };
  Status send(const UniqueFd& socket, const Short& record, When when) noexcept;
  /// OK: nothing waits any more. NO_RESOURCE: the system has no room. PEER_FAILED: the connection has failed.
  Status flush(const UniqueFd& socket) noexcept;
  /// Goes on behind a deadline that has passed.
  void look(const UniqueFd& socket) noexcept;
  /// The connection has failed, and sending has heard that it was reset.
  bool was_reset() const noexcept { return was_reset_; }
  /// It has failed, and sending has heard that the peer's host is silent.
  bool found_silence() const noexcept { return found_silence_; }
  /// The stream goes on over another connection, whose peer has got the first `position` bytes of it. False:
  /// it cannot. Behind cut().
  bool go_on_behind(std::uint64_t position) noexcept;
  /// From now on nothing is retained.
  void retain_nothing() noexcept { retained_.keep_nothing(); }
  /// Whether an acknowledgement means that the peer will read what it has. The peer's system acknowledges
  /// also bytes behind a handshake that comes to nothing on the peer's side.
  void trust_acknowledgements(bool trusts) noexcept { trusts_ = trusts; }
  bool trusts_acknowledgements() const noexcept { return trusts_; }
  /// A record that means nothing, for a peer that waits to hear something.
  void send_nothing(const UniqueFd& socket) noexcept;
  /// Retains no longer what is acknowledged.
  void forget_acknowledged(const UniqueFd& socket) noexcept;
  /// The socket is used no more. Before it is closed.
  void cut() noexcept { take_back(); }
  bool is_empty() const noexcept { return queue_.is_empty(); }
  /// The kernel sends what waits when its time has come.
  bool has_deadline() const noexcept { return late_.is_armed(); }
  /// What waits, waits for room.
  bool waits_for_room() const noexcept { return waits_for_room_; }

 private:
  /// A record as it comes to lie behind its head.
  struct Record {
    RecordHead head;
    std::span<const std::byte> front;
    transport::Payload rest;
    std::size_t bytes() const noexcept { return sizeof head + head.bytes; }
    void write_payload(std::byte* to) const noexcept;
  };
  Status send(const UniqueFd& socket, const Record& record, When when) noexcept;
  Status hold(const UniqueFd& socket, const Record& record, KernelQueue* keeper) noexcept;
  bool join(const Record& record) noexcept;
  bool arm(const UniqueFd& socket, KernelQueue& keeper) noexcept;
  void end_deadline(std::size_t last) noexcept;
  void take_back() noexcept;
  bool append(const Record& record) noexcept;
  Status append_or_push(const UniqueFd& socket, const Record& record) noexcept;
  Status refuse(const UniqueFd& socket) noexcept;
  bool append_rest(const Record& record, std::size_t from) noexcept;
  Status write(const UniqueFd& socket, const Record& record) noexcept;
  void push(const UniqueFd& socket) noexcept;
  bool may_send(const UniqueFd& socket) noexcept;
  void retain(const UniqueFd& socket, const Record& record, std::size_t bytes) noexcept;
  Status failed(int error) noexcept;

  ByteQueue queue_;
  const stria_services_t& services_;
  const std::chrono::nanoseconds delay_;
  LateSend late_;
  PaddedRecords padded_;                   // what late_ sends; the used part of it is in queue_
  std::size_t padded_bytes_ = kHeldLeast;  // of the next one
  std::uint64_t count_ = 0;                // records that the peer gets, but for those that mean nothing
  Retained retained_;
  // Bytes of the stream that may have gone with other contents than are retained (end_deadline()).
  std::uint64_t unsure_from_ = 0, unsure_to_ = 0;
  bool trusts_ = true;
  bool is_near_ = true;  // when it was asked last, all was acknowledged
  bool waits_for_room_ = false;
  bool is_down_ = false;    // the connection has failed
  bool was_reset_ = false;  // and so
  bool found_silence_ = false;
  bool is_broken_ = false;  // the stream has
};

}  // namespace stria::tcp
