// The records of a window, and of the inbox: what kinds there are, the control word that says so, how many
// halves of a line one takes, and the header in it. window.hpp draws where they lie.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hw/pio.hpp"
#include "stria/provider.h"
#include "transport/shm/segment.hpp"

namespace stria::shm {

/// What a record of a window or of the inbox is.
enum class RecordKind : std::uint32_t {
  packet = 1,  ///< payload follows
  invalidate =
      2,  ///< as packet; a key word (window: 8 bytes before the payload, inbox: detail) ends before delivery
  cell = 3,     ///< the payload is in the sender's cell that the word behind the header names (CellPlace)
  pad = 4,      ///< nothing up to the end of the ring
  hello = 5,    ///< inbox only: look at my peer slot
  packed = 6,   ///< as packet, from the buffered path
  growing = 7,  ///< as cell, and the payload is still being written (growing.hpp); window only
  packing = 8,  ///< as growing, of blocks that take long to pack
  packing_sparse = 9,  ///< as packing, by shorter steps: of blocks each of which is a line of its own
  packet_cell = 10,    ///< as cell, from the PIO path
  growing_far = 11     ///< as growing, in longer steps: to a far peer
};

/// Whether the payload is in a cell that may still be being written.
constexpr bool is_growing(RecordKind kind) noexcept {
  return kind == RecordKind::growing || kind == RecordKind::packing || kind == RecordKind::packing_sparse ||
         kind == RecordKind::growing_far;
}

/// Whether the payload is in a cell, all of it.
constexpr bool is_whole_cell(RecordKind kind) noexcept {
  return kind == RecordKind::cell || kind == RecordKind::packet_cell;
}

inline constexpr std::uint32_t kRecordHeader = 8 + sizeof(stria_header_t);
static_assert(kRecordHeader <= most_pio_mtu(0),
              "the longest record of a window is its longest message and this");
inline constexpr std::uint64_t kValid = 1u << 31;
inline constexpr std::uint32_t kMaxRecordBytes = (1u << 24) - 1;

constexpr std::uint64_t make_control(RecordKind kind, std::uint32_t bytes, std::uint32_t detail) noexcept {
  return kValid | (static_cast<std::uint64_t>(kind) << 24) | bytes | (std::uint64_t{detail} << 32);
}
constexpr std::uint32_t control_bytes(std::uint64_t control) noexcept {
  return static_cast<std::uint32_t>(control) & kMaxRecordBytes;
}
constexpr RecordKind control_kind(std::uint64_t control) noexcept {
  return static_cast<RecordKind>((control >> 24) & 0x7f);
}
constexpr std::uint32_t control_detail(std::uint64_t control) noexcept {
  return static_cast<std::uint32_t>(control >> 32);
}

/// In a window the detail is the lap, which publish() fills in.
constexpr std::uint64_t make_window_control(RecordKind kind, std::uint32_t bytes) noexcept {
  return make_control(kind, bytes, 0);
}

/// What the control words of a lap have in common. Laps are 1..65535, so that zeroed memory says nothing.
constexpr std::uint64_t lap_mark(std::uint32_t lap) noexcept {
  return (std::uint64_t{lap} << 32) | kValid;
}
inline constexpr std::uint64_t kLapMarkBits = (0xffffull << 32) | kValid;
constexpr std::uint64_t lap_mark_of(std::uint64_t control) noexcept {
  return control & kLapMarkBits;
}
constexpr std::uint32_t next_lap(std::uint32_t lap) noexcept {
  return lap == 0xffff ? 1 : lap + 1;
}

/// What an invalidate record of a window has before its payload: the key word, as 8 bytes.
inline constexpr std::uint32_t kInvalidatePrefix = 8;

/// Positions and lengths in a window count half lines; a record is one, or an even number of them.
inline constexpr std::uint32_t kHalf = kLine / 2;
inline constexpr std::uint32_t kHalfPayload = kHalf - kRecordHeader;
inline constexpr std::uint32_t kFirstPayload = kLine - kRecordHeader;  // what a record's first line holds
inline constexpr std::uint32_t kLinesLeast =
    192;  // bytes: longer ones are copied line by line (hw/line_copy.hpp)
constexpr std::uint32_t record_halves(std::uint32_t payload_bytes) noexcept {
  if (payload_bytes <= kHalfPayload) return 1;
  return (kRecordHeader + payload_bytes + kLine - 1) / kLine * 2;
}
/// An invalidate record has its line for itself. It ends a large message, and what follows is often the next
/// one's announcement, a whole line: the pad before that would be written to a line that the receiver took
/// meanwhile.
constexpr std::uint32_t invalidate_halves(std::uint32_t bytes) noexcept {
  const std::uint32_t halves = record_halves(bytes);
  return halves < 2 ? 2 : halves;
}

/// The header as two words, put together in registers: the caller has just written its fields one by one, and
/// a wide load of them would wait for the store buffer.
inline std::uint64_t header_word(const stria_header_t& header) noexcept {
  return header.kind | (std::uint64_t{header.flags} << 8) | (std::uint64_t{header.sequence} << 16) |
         (std::uint64_t{header.immediate} << 32);
}
inline void store_header(std::byte* to, const stria_header_t& header) noexcept {
  hw::store_word(to, header_word(header));
  hw::store_word(to + 8, header.tag);
}

/// Whether a record's header is `wanted`, but for the immediate.
inline bool is_wanted(const std::byte* record, const stria_header_t& wanted) noexcept {
  const auto first = static_cast<std::uint32_t>(hw::load_word(record + 8));
  return first == static_cast<std::uint32_t>(header_word(wanted)) && hw::load_word(record + 16) == wanted.tag;
}
inline std::uint32_t immediate_of(const std::byte* record) noexcept {
  return static_cast<std::uint32_t>(hw::load_word(record + 8) >> 32);
}

}  // namespace stria::shm
