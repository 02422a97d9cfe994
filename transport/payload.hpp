// Helpers for Payload, a range of bytes of described memory. Engines and providers pass payloads so.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/words.hpp"
#include "datatype/pack.hpp"
#include "hw/pio.hpp"
#include "transport/contract.hpp"

namespace stria::transport {

/// Copies the descriptor, not the bytes, by words (base/words.hpp).
inline void copy_payload(Payload& to, const Payload& from) noexcept {
  static_assert(sizeof(Payload) == 40);
  copy_words<sizeof(Payload)>(&to, &from);
}

/// Bytes [offset, offset + length) of the range that `whole` describes.
inline Payload slice(const Payload& whole, std::uint64_t offset, std::uint64_t length) noexcept {
  Payload part = whole;
  part.offset += static_cast<std::int64_t>(offset);
  part.length = static_cast<std::int64_t>(length);
  return part;
}

/// Where contiguous memory's range begins; only for payload.layout == nullptr.
inline std::byte* contiguous_begin(const Payload& payload) noexcept {
  return static_cast<std::byte*>(payload.base) + payload.offset;
}

/// Mean contiguous run in bytes, saturated to 31 bits; 0 for contiguous memory.
inline std::uint32_t mean_block(const Payload& payload) noexcept {
  if (payload.layout == nullptr) return 0;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(layout_of(payload)->facts().mean_run, 0x7fffffff));
}

/// Whether the payload is the whole stream of its instances.
inline bool is_all(const Payload& payload) noexcept {
  if (payload.layout == nullptr) return payload.offset == 0 && payload.length == payload.count;
  return payload.length == layout_of(payload)->size() * payload.count;
}

/// Whether the payload has `least` runs or more, by their mean length; 1 < least < 2^32.
inline bool has_runs(const Payload& payload, std::int64_t least) noexcept {
  const std::uint32_t run = mean_block(payload);
  return run != 0 && payload.length >= least * std::int64_t{run};
}
/// From so many runs on packing takes long (docs/notebook/rendezvous.md).
inline constexpr std::int64_t kManyRuns = 384;

inline constexpr std::uint32_t kBlockOfPieces = 1024;
/// Whether packing and unpacking by pieces is no slower than at once: the memory is contiguous, or its runs
/// have kBlockOfPieces bytes or more on average.
inline bool goes_by_pieces(const Payload& payload) noexcept {
  return payload.layout == nullptr || mean_block(payload) >= kBlockOfPieces;
}
inline constexpr std::uint32_t kLongBlock = 4096;
/// Whether the memory is contiguous, or has blocks so long that each is copied as contiguous memory is.
inline bool has_long_blocks(const Payload& payload) noexcept {
  return payload.layout == nullptr || (payload.length >= kLongBlock && mean_block(payload) >= kLongBlock);
}

/// The payload as a datatype::Range, which has the same fields; only for payload.layout != nullptr.
inline datatype::Range range_of(const Payload& payload) noexcept {
  static_assert(sizeof(datatype::Range) == sizeof(Payload) &&
                offsetof(datatype::Range, base) == offsetof(Payload, base) &&
                offsetof(datatype::Range, length) == offsetof(Payload, length));
  return {layout_of(payload), payload.base, payload.count, payload.offset, payload.length};
}

/// Packs the payload's bytes to `out`.
inline void pack(const Payload& payload, void* out) noexcept {
  if (payload.length == 0) return;
  if (payload.layout == nullptr) {
    datatype::copy_bytes(out, contiguous_begin(payload), static_cast<std::size_t>(payload.length));
  } else {
    datatype::pack(range_of(payload), out);
  }
}

/// Unpacks payload.length bytes from `in` to the payload's memory.
inline void unpack(const Payload& payload, const void* in) noexcept {
  if (payload.length == 0) return;
  if (payload.layout == nullptr) {
    std::byte* to = contiguous_begin(payload);
    if (payload.length <= static_cast<std::int64_t>(kCacheLine))  // most messages: no function call
      hw::copy_line(to, static_cast<const std::byte*>(in), static_cast<std::uint32_t>(payload.length));
    else
      datatype::copy_bytes(to, in, static_cast<std::size_t>(payload.length));
  } else {
    if (!has_long_blocks(payload))  // for long blocks the processor itself prefetches
      hw::prefetch_lines(static_cast<const std::byte*>(in), static_cast<std::uint32_t>(std::min<std::int64_t>(
                                                                payload.length, hw::kPrefetchMost)));
    datatype::unpack(range_of(payload), in);
  }
}

inline constexpr std::int64_t kLongByString = 32768;
/// Copies bytes of a contiguous range of kLongByString bytes or more, where another core has, or had, the
/// lines of source or target in its cache: by the string instruction where that is faster
/// (docs/notebook/shm.md).
void copy_long_across(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

/// Whether a packet's payload is copied to this memory by copy_long_across(). Not when a far core wrote it,
/// because loads of vectors fetch it faster; and not to a buffer that outgrows the caches, because sending it
/// on would take longer.
inline bool goes_by_string(const Payload& memory, const Packet& packet) noexcept {
  constexpr std::int64_t kMost = 12 << 20;
  return memory.length >= kLongByString && memory.layout == nullptr && memory.count <= kMost &&
         (packet.buffered & STRIA_PACKET_NEAR) != 0;
}

/// Whether the packet's payload is still being written.
inline bool is_arriving(const Packet& packet) noexcept {
  return (packet.buffered & STRIA_PACKET_ARRIVING) != 0;
}

/// Whether the wanted bytes of a packet have come.
enum class Arrival : std::uint8_t {
  whole,
  later,  ///< no: the sender stands still (STRIA_DELIVERED_LATER)
  never   ///< no: the sender is gone
};
/// What it means that `there` bytes are there, when at least `wanted` bytes, more than 0, were asked for.
constexpr Arrival arrival_of(std::uint32_t there, std::uint32_t wanted) noexcept {
  return there >= wanted ? Arrival::whole : there != 0 ? Arrival::later : Arrival::never;
}

/// Waits a little until all of the packet's payload is there, and says whether it is.
inline Arrival arrival(const Packet& packet) noexcept {
  if (!is_arriving(packet) || packet.bytes == 0) return Arrival::whole;
  const auto& arriving = reinterpret_cast<const stria_arriving_t&>(packet);
  return arrival_of(arriving.arrived(&arriving, packet.bytes), packet.bytes);
}

/// Copies the first memory.length bytes of a packet that is still being written to `memory`, as they come.
/// Unless the answer is `whole`, only a part of them may have been copied.
Arrival take_arriving(const Payload& memory, const Packet& packet) noexcept;

/// Copies the first memory.length bytes of a packet to `memory`. A packet that is still being written is
/// taken by take_arriving(); for any other the answer is `whole`.
inline Arrival take(const Payload& memory, const Packet& packet) noexcept {
  if (is_arriving(packet)) [[unlikely]]
    return take_arriving(memory, packet);
  if (goes_by_string(memory, packet)) [[unlikely]]
    copy_long_across(contiguous_begin(memory), static_cast<const std::byte*>(packet.payload),
                     static_cast<std::size_t>(memory.length));
  else
    unpack(memory, packet.payload);
  return Arrival::whole;
}

/// Whether the payload's runs are on average shorter than a cache line, and so far apart that each lies in a
/// line of its own, which the processor does not prefetch.
inline bool is_sparse(const Payload& payload) noexcept {
  return payload.layout != nullptr && layout_of(payload)->facts().spread(payload.count).sparse;
}

/// For a payload that is a matrix by its columns: each run of a column lies in another cache line, and the
/// line's next bytes belong to the next column. Returns the bytes of as many columns as share their lines, at
/// most all: fewer bytes at a time take as long to copy, as they touch the same lines. Else 0.
inline std::int64_t turned_bytes(const Payload& payload) noexcept {
  if (payload.layout == nullptr) return 0;
  const datatype::Columns& columns = layout_of(payload)->facts().spread(payload.count).columns;
  if (columns.bytes == 0) return 0;
  return payload.length <= columns.most ? payload.length : columns.bytes;
}

}  // namespace stria::transport
