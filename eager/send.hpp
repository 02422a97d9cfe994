// Sending a message with its match header: inline through the PIO window where it fits, else packed into
// provider memory. One indirect call a message; a message without credit in the window takes the buffered
// path and is matched in order all the same.
#pragma once

#include "base/assert.hpp"
#include "eager/flow.hpp"
#include "stria/stria.h"
#include "transport/link_ref.hpp"
#include "transport/payload.hpp"

namespace stria::eager {

/// The longest strided message that is packed on the stack for the PIO window; longer ones pack into the
/// window, or a cell, directly.
inline constexpr std::uint32_t kGatherMax = 256;
/// A longer message is announced when the provider has no buffer for it, since a provider has few that long.
inline constexpr std::uint64_t kWaitsForRoom = 32768;

/// Messages of one worker. Threads: the worker's lock.
class Sender {
 public:
  struct Counters {
    std::uint64_t pio = 0;
    std::uint64_t buffered = 0;
  };

  /// Whether a message of `bytes` is short enough for the path, and the receiver granted so much.
  static bool admits(const Flow& flow, std::uint64_t bytes) noexcept {
    return bytes <= flow.eager_limit && bytes <= flow.credit;
  }

  /// Sends a message through the window when it is contiguous, plain, and shorter than `below`, which is at
  /// most what the link takes so: inline_below. False: nothing changed. `below` is 0 while the link is not
  /// up.
  [[gnu::always_inline]] bool try_inline(Flow& flow, const stria_send_t& send, std::uint32_t below) noexcept {
    if (send.layout != nullptr || send.count >= below || send.count > flow.credit ||
        (send.flags & ~std::uint32_t{STRIA_SEND_IMMEDIATE}) != 0)
      return false;
    transport::Header header = wire::make_header(wire::Kind::eager, send.tag, send.immediate);
    header.sequence = flow.send_sequence;
    if (flow.link.pio_send(header, send.base, static_cast<std::uint32_t>(send.count)) != Status::ok)
      return false;
    ++flow.send_sequence;
    flow.credit -= send.count;
    ++counters_.pio;
    return true;
  }

  /// Sends a message that admits() accepts, with the flow's next number. ok: the memory is the caller's
  /// again. no_resource: nothing changed, to be tried again. unsupported: nothing changed, to be announced.
  Status send(Flow& flow, transport::Header header, const transport::Payload& payload) noexcept {
    STRIA_ASSERT(admits(flow, static_cast<std::uint64_t>(payload.length)), "it was asked before");
    header.sequence = flow.send_sequence;
    const auto bytes = static_cast<std::uint32_t>(payload.length);
    bool buffered;
    const Status sent = send_packet(flow.link, header, payload, buffered);
    if (sent != Status::ok)
      return sent == Status::no_resource && bytes > kWaitsForRoom ? Status::unsupported : sent;
    ++flow.send_sequence;
    flow.credit -= bytes;
    ++(buffered ? counters_.buffered : counters_.pio);
    return Status::ok;
  }

  /// Tells the peer what it was granted since the last time. no_resource: to be tried again.
  static Status send_credit(Flow& flow) noexcept;

  const Counters& counters() const noexcept { return counters_; }

 private:
  /// `buffered` says by which path the packet left.
  static Status send_packet(const transport::LinkRef& link, const transport::Header& header,
                            const transport::Payload& payload, bool& buffered) noexcept {
    const auto bytes = static_cast<std::uint32_t>(payload.length);
    if (bytes < link.pio_below) {
      Status sent = Status::no_resource;
      if (payload.layout == nullptr) {
        sent = link.pio_send(header, transport::contiguous_begin(payload), bytes);
      } else if (bytes <= kGatherMax) {
        std::byte gathered[kGatherMax];
        transport::pack(payload, gathered);
        sent = link.pio_send(header, gathered, bytes);
      } else if (bytes > link.eager_max) {
        return Status::unsupported;  // neither the stack nor a cell takes it: the caller announces
      }
      buffered = false;
      if (sent != Status::no_resource) return sent;
    }
    if (bytes > link.eager_max) return Status::no_resource;
    buffered = true;
    return link.eager_send(header, payload);
  }

  Counters counters_;
};

}  // namespace stria::eager
