// The sending half of a link's first connection. A record is given to the system at once if nothing waits
// before it, or waits in a buffer: for room, for flush(), or for a deadline that the kernel keeps.
//
//   at once ──► system ── no room ──► buffer ── flush() ──► system
//   waits   ──► buffer ── flush(), a record that does not wait, enough bytes, or the deadline ──► system
//
// Bytes that were sent are retained until the peer's system acknowledges them. A connection that has failed
// behaves like one without room: the receiving side finds its end, and the stream may go on over another
// connection.
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
  /// Whether a record may wait for others. Without a keeper flush() has to follow in the same call of the
  /// library; with one the application may compute before flush().
  struct When {
    bool waits = false;
    KernelQueue* keeper = nullptr;  ///< the queue that keeps the deadline
  };
  /// How long a record waits for others while the application computes.
  static constexpr std::chrono::nanoseconds kDelay = std::chrono::microseconds(50);
  /// `retained`: the pool of Retained. `link`: the token by which the kernel's queue names the link when the
  /// deadline has passed.
  Outgoing(BufferPool& pool, BufferPool& retained, const stria_services_t& services, Token link,
           std::chrono::nanoseconds delay = kDelay) noexcept
      : queue_(pool), services_(services), delay_(delay), late_(link), retained_(retained) {}

  /// Sends a packet. OK: it was sent or waits, and the payload's memory is the caller's again. NO_RESOURCE:
  /// nothing of it was sent or waits. PEER_FAILED: nothing can be sent any more.
  Status send(const UniqueFd& socket, const transport::Header& header, const transport::Payload& payload,
              When when) noexcept;
  /// A record of any kind, which is copied. Its payload is `first`, and behind it `second`.
  struct Short {
    RecordKind kind{};
    transport::Header header{};
    std::span<const std::byte> first;
    std::span<const std::byte> second;
  };
  /// Sends a record that is copied. OK: it was sent or waits. NO_RESOURCE: nothing of it was sent or waits.
  /// PEER_FAILED: nothing can be sent any more.
  Status send(const UniqueFd& socket, const Short& record, When when) noexcept;
  /// Sends all that waits. OK: nothing waits any more. NO_RESOURCE: the system has no room, or the peer has
  /// to acknowledge something first. PEER_FAILED: the connection has failed.
  Status flush(const UniqueFd& socket) noexcept;
  /// If the deadline has passed: counts what the kernel has sent, and sends the rest.
  void check_deadline(const UniqueFd& socket) noexcept;
  /// Whether a send has reported that the connection was reset.
  bool was_reset() const noexcept { return was_reset_; }
  /// Whether a send has reported that the peer's host is silent.
  bool found_silence() const noexcept { return found_silence_; }
  /// Prepares the stream to go on over another connection, when the peer has received the first `position`
  /// bytes of it. False: that is impossible. Only after cut().
  bool go_on_behind(std::uint64_t position) noexcept;
  /// Has nothing retained from now on.
  void retain_nothing() noexcept { retained_.keep_nothing(); }
  /// Sets whether acknowledged bytes may be forgotten. They may not before it is known that the peer will
  /// read them: its system acknowledges also bytes behind a handshake that comes to nothing on the peer's
  /// side.
  void trust_acknowledgements(bool trusts) noexcept { trusts_ = trusts; }
  bool trusts_acknowledgements() const noexcept { return trusts_; }
  /// Sends a record that means nothing, for a peer that waits to hear something. False: there is no room for
  /// it.
  bool send_nothing(const UniqueFd& socket) noexcept;
  /// Frees retained bytes that the peer's system has acknowledged.
  void forget_acknowledged(const UniqueFd& socket) noexcept;
  /// Cancels the deadline: the socket is not used any more. To be called before the socket is closed.
  void cut() noexcept { take_back(); }
  bool is_empty() const noexcept { return queue_.is_empty(); }
  /// Whether a deadline is set, at which the kernel sends what waits.
  bool has_deadline() const noexcept { return late_.is_armed(); }
  /// Whether nothing can be sent at present, for want of room or because the connection has failed.
  bool waits_for_room() const noexcept { return waits_for_room_; }

 private:
  /// A record in the order of its bytes: `head`, `front`, `rest`.
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
  Status pack_in_parts(const UniqueFd& socket, const Record& record) noexcept;
  bool append_part(const Record& record, std::size_t from, std::size_t end) noexcept;
  Status write(const UniqueFd& socket, const Record& record) noexcept;
  void push(const UniqueFd& socket) noexcept;
  bool may_send(const UniqueFd& socket) noexcept;
  void retain(const UniqueFd& socket, const Record& record, std::size_t bytes) noexcept;
  Status failed(int error) noexcept;

  ByteQueue queue_;
  const stria_services_t& services_;
  const std::chrono::nanoseconds delay_;
  LateSend late_;
  PaddedRecords padded_;                   // what late_ sends; its records are in queue_, too
  std::size_t padded_bytes_ = kHeldLeast;  // length of the next place of padded_
  std::uint64_t count_ = 0;                // records that were sent or wait, without padding and `again`
  Retained retained_;
  // Bytes of the stream that may have gone with other contents than are retained (end_deadline()).
  std::uint64_t unsure_from_ = 0, unsure_to_ = 0;
  bool trusts_ = true;
  bool is_near_ = true;  // all was acknowledged when the system was last asked
  bool waits_for_room_ = false;
  bool is_down_ = false;        // the connection has failed
  bool was_reset_ = false;      // the connection has failed by a reset
  bool found_silence_ = false;  // the connection has failed because the peer's host is silent
  bool is_broken_ = false;      // the rest of a record is lost: the stream cannot go on
};

}  // namespace stria::tcp
