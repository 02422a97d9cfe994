// LinkRef: what an engine needs to know of a link to send on it. It has a copy of the link's limits, so that
// no message has to ask the provider for them. The owner of the LinkRef (a part of tag/) renews the copy when
// something says that the limits changed: a refused get, a second connect.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/status.hpp"
#include "transport/hot_ops.hpp"
#include "transport/key.hpp"
#include "transport/wire.hpp"

namespace stria::transport {

/// For how long the peer of a link has not sent what a receive asked it for. The receiving side keeps it
/// (rndv/help.cpp).
struct Silence {
  bool heard = true;        ///< since the last look a fragment came, or one was asked for
  std::uint8_t slices = 0;  ///< doublings of the slice that is read without the peer's help
  std::uint16_t since = 0;  ///< when the silence began: the low bits of a clock, in us
};

/// A link of this latency or more is distant: a packet takes longer than packing some hundred blocks.
inline constexpr std::uint32_t kDistantNs = 2000;

struct LinkRef {
  const HotOps* ops = nullptr;
  stria_link_t* link = nullptr;  ///< null until connected
  stria_device_t* device = nullptr;
  std::uint32_t pio_below = 0;  ///< payloads shorter than this go inline: pio_max + 1, or 0 without a window
  std::uint32_t eager_max = 0;
  /// Contiguous messages shorter than this fit pio_send and the eager limit. Set by the owner.
  std::uint16_t inline_below = 0;
  bool can_get : 1 = false;
  bool can_put : 1 = false;
  bool can_map : 1 = false;     ///< get and put work through mapped keys, whatever can_get and can_put say
  bool far : 1 = false;         ///< the peer's cache is far: each cache line that changes hands is waited for
  bool offload : 1 = false;     ///< an adapter moves what is got and put, and ends keys
  bool can_atomic : 1 = false;  ///< atomics work, whatever the key
  bool gathers : 1 = false;     ///< keys may show memory that lies apart as one run
  bool grows : 1 = false;       ///< the receiver of an eager message unpacks while its sender packs
  /// Zero-copy sends have up to 2^zcopy_log2 bytes of payload; 0: there are none.
  std::uint8_t zcopy_log2 : 5 = 0;
  bool self : 1 = false;     ///< leads to the worker itself, without an adapter; set by the owner
  bool distant : 1 = false;  ///< a packet takes so long that one more round trip has to be worth it
  bool railed : 1 = false;   ///< the peer may have further links, by other devices; set by the owner
  mutable Silence silence;

  /// Whether get works by this key.
  bool can_get_by(const Key& key) const noexcept { return can_get || (can_map && is_mapped(key)); }
  /// Whether put works by this key.
  bool can_put_by(const Key& key) const noexcept { return can_put || (can_map && is_mapped(key)); }
  /// Most payload bytes of a zero-copy send; 0: there are none.
  std::uint32_t zcopy_max() const noexcept { return zcopy_log2 == 0 ? 0 : 1u << zcopy_log2; }
  /// Most payload bytes of any packet.
  std::uint32_t packet_max() const noexcept { return std::max(eager_max, zcopy_max()); }

  /// Copies the limits of the link that engines need. The fields that the owner sets are left alone.
  void take(const LinkLimits& limits) noexcept {
    pio_below = limits.pio_max == 0 ? 0 : limits.pio_max + 1;
    eager_max = limits.eager_max;
    can_get = limits.can_get != 0;
    can_put = limits.can_put != 0;
    can_map = limits.can_map != 0;
    far = limits.far != 0;
    offload = limits.offload != 0;
    can_atomic = limits.can_atomic != 0;
    gathers = limits.gathers != 0;
    grows = limits.grows != 0;
    distant = limits.latency_ns >= kDistantNs;
    zcopy_log2 = static_cast<std::uint8_t>(std::bit_width(limits.zcopy_max | 1u) - 1) & 31u;
  }

  Status pio_send(const Header& header, const void* payload, std::uint32_t bytes) const noexcept {
    return from_c(ops->pio_send(link, &header, payload, bytes));
  }
  unsigned poll(unsigned budget) const noexcept { return ops->poll(link, budget); }
  /// Receives the next packet where it lies, if `header` matches. Returns payload bytes, or STRIA_TAKE_*.
  std::int32_t take(Header& header, void* memory, std::uint32_t capacity) const noexcept {
    return ops->take(link, &header, memory, capacity);
  }
  void release(std::uint64_t keep) const noexcept { ops->release(link, keep); }
  std::uint32_t kept_arrived(std::uint64_t keep, std::uint32_t all, std::uint32_t bytes) const noexcept {
    return ops->kept_arrived(link, keep, all, bytes);
  }
  Status eager_send(const Header& header, const Payload& payload) const noexcept {
    return from_c(ops->eager_send(link, &header, &payload));
  }
  Status zcopy_send(const Header& header, const Payload& payload, Completion* completion) const noexcept {
    return from_c(ops->zcopy_send(link, &header, &payload, completion));
  }
  Status send_invalidate(const Header& header, const void* body, std::uint32_t bytes,
                         const Key& key) const noexcept {
    return from_c(ops->send_invalidate(link, &header, body, bytes, &key));
  }
  Status get(const Payload& local, const Key& key, std::uint64_t offset,
             Completion* completion) const noexcept {
    return from_c(ops->get(link, &local, &key, offset, completion));
  }
  Status put(const Payload& local, const Key& key, std::uint64_t offset,
             Completion* completion) const noexcept {
    return from_c(ops->put(link, &local, &key, offset, completion));
  }
  Status get_finish(const Payload& local, const Key& key, std::uint64_t offset, const Header& header,
                    Completion* completion) const noexcept {
    return from_c(ops->get_finish(link, &local, &key, offset, &header, completion));
  }
  Status atomic(const Atomic& what, const Key& key, Completion* completion) const noexcept {
    return from_c(ops->atomic(link, &what, &key, completion));
  }
  Status fast_register(const Payload& memory, unsigned access, Key& key) const noexcept {
    return from_c(ops->fast_register(device, link, &memory, access, &key));
  }
  Status invalidate(const Key& key) const noexcept { return from_c(ops->invalidate(device, &key)); }

  /// Sends a small packet of an engine: through the PIO window where that takes it, buffered otherwise. The
  /// answer unsupported of eager_send (other peers hold all of the provider's memory) becomes no_resource:
  /// the packet has no other way, so the caller waits as for any lack of room.
  Status send_control(const Header& header, const void* body, std::uint32_t bytes) const noexcept {
    if (bytes < pio_below) {
      const Status sent = pio_send(header, body, bytes);
      if (sent != Status::no_resource) return sent;
    }
    const Status sent = eager_send(header, contiguous_payload(body, bytes));
    return sent == Status::unsupported ? Status::no_resource : sent;
  }

  static Payload contiguous_payload(const void* data, std::int64_t bytes) noexcept {
    return Payload{nullptr, const_cast<void*>(data), bytes, 0, bytes};
  }
};

}  // namespace stria::transport
