// Sends a message with its match header: inline through the PIO window where it fits, else packed into the
// provider's memory. That is one indirect call a message. A second one follows only when the window has no
// credit: the message then takes the buffered path, and is matched in order all the same.
#pragma once

#include "base/assert.hpp"
#include "eager/flow.hpp"
#include "stria/stria.h"
#include "transport/link_ref.hpp"
#include "transport/payload.hpp"

namespace stria::eager {

/// Longest strided message that is packed on the stack, and stored into the PIO window from there. A longer
/// one is packed directly into the provider's memory.
inline constexpr std::uint32_t kGatherMax = 256;
/// Longest message, in bytes, that waits while the provider has no buffer for it. A longer one is announced
/// then, since a provider has few buffers of that length.
inline constexpr std::uint64_t kWaitForRoomMax = 32768;

/// How a message leaves.
enum class Way : std::uint8_t {
  window,    ///< stored into the PIO window with its header; in a buffer while the window has no room
  buffer,    ///< packed into memory of the provider
  announced  ///< moved by the rendezvous
};

/// The way of a message by what its link takes: announced where neither the window nor a buffer takes it.
constexpr Way way_of(const transport::LinkRef& link, bool contiguous, std::uint64_t bytes) noexcept {
  if (bytes < link.pio_below && (contiguous || bytes <= kGatherMax)) return Way::window;
  return bytes > link.eager_max ? Way::announced : Way::buffer;
}

/// The eager messages that one worker sends. Threads: one at a time, under the worker's lock.
class Sender {
 public:
  /// Messages sent through the window, and by the buffered path.
  struct Counters {
    std::uint64_t pio = 0;
    std::uint64_t buffered = 0;
  };

  /// Whether a message of `bytes` bytes may be sent eagerly: it is short enough, and the receiver has granted
  /// so much.
  static bool admits(const Flow& flow, std::uint64_t bytes) noexcept {
    return bytes <= flow.eager_limit && bytes <= flow.credit;
  }

  /// Sends a message through the window if it is contiguous, has no flag but STRIA_SEND_IMMEDIATE, and is
  /// shorter than `below`. `below`: at most what the window takes and one more than the eager limit; 0 while
  /// the link is not up. False: nothing changed.
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

  /// Sends a message that admits() accepts, with the flow's next sequence number. `way`: as way_of() says,
  /// and not announced. ok: the memory is the caller's again. no_resource: nothing changed, and the call is
  /// to be repeated. unsupported: nothing changed, and the message is to be announced.
  Status send(Flow& flow, transport::Header header, const transport::Payload& payload, Way way) noexcept {
    STRIA_ASSERT(admits(flow, static_cast<std::uint64_t>(payload.length)), "a message that was not admitted");
    STRIA_ASSERT(way != Way::announced, "a message that no packet takes");
    header.sequence = flow.send_sequence;
    const auto bytes = static_cast<std::uint32_t>(payload.length);
    bool buffered;
    const Status sent = send_packet(flow.link, header, payload, way, buffered);
    if (sent != Status::ok)
      return sent == Status::no_resource && bytes > kWaitForRoomMax ? Status::unsupported : sent;
    ++flow.send_sequence;
    flow.credit -= bytes;
    ++(buffered ? counters_.buffered : counters_.pio);
    return Status::ok;
  }

  /// Tells the peer what was granted since the last CREDIT packet. no_resource: nothing was sent, and the
  /// call is to be repeated.
  static Status send_credit(Flow& flow) noexcept;

  const Counters& counters() const noexcept { return counters_; }

 private:
  /// Sends a packet. `buffered`: whether the packet took the buffered path, and not the window.
  static Status send_packet(const transport::LinkRef& link, const transport::Header& header,
                            const transport::Payload& payload, Way way, bool& buffered) noexcept {
    if (way == Way::window) {
      const auto bytes = static_cast<std::uint32_t>(payload.length);
      Status sent = Status::no_resource;
      if (payload.layout == nullptr) {
        sent = link.pio_send(header, transport::contiguous_begin(payload), bytes);
      } else {
        std::byte gathered[kGatherMax];
        transport::pack(payload, gathered);
        sent = link.pio_send(header, gathered, bytes);
      }
      buffered = false;
      if (sent != Status::no_resource) return sent;
      if (bytes > link.eager_max) return sent;
    }
    buffered = true;
    return link.eager_send(header, payload);
  }

  Counters counters_;
};

}  // namespace stria::eager
