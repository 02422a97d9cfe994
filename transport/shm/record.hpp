// The format of a record in a window or in the inbox: the kinds of records, the control word, the length in
// halves of a cache line, and the header. window.hpp draws the record of a window, inbox.hpp that of the
// inbox.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hw/pio.hpp"
#include "stria/provider.h"
#include "transport/shm/segment.hpp"

namespace stria::shm {

/// What a record of a window or of the inbox is.
enum class RecordKind : std::uint32_t {
  packet = 1,  ///< a packet of pio_send(): its payload follows the header; window only
  /// A packet before whose delivery a key ends. The key word is in the 8 bytes before the payload (window),
  /// or in the detail of the control word (inbox).
  invalidate = 2,
  cell = 3,         ///< a packet of eager_send(); the word behind the header names its cell (CellPlace)
  pad = 4,          ///< no packet: fills half a line, or the rest of a lap; window only
  hello = 5,        ///< no packet: a peer has taken the peer slot that sent this; inbox only
  packed = 6,       ///< a packet of eager_send(): its payload follows the header
  growing = 7,      ///< as `cell`, and the payload is still being written (growing.hpp); window only
  packet_cell = 8,  ///< as `cell`, for a packet of pio_send(); window only
  probe = 9         ///< no packet: the receiver times its lines (distance.hpp); window only
};

/// Whether a record of a window is a packet.
constexpr bool is_packet(RecordKind kind) noexcept {
  return kind != RecordKind::pad && kind != RecordKind::probe;
}

/// Whether all of the payload is in a cell when the record is published.
constexpr bool is_whole_cell(RecordKind kind) noexcept {
  return kind == RecordKind::cell || kind == RecordKind::packet_cell;
}

inline constexpr std::uint32_t kRecordHeader = 8 + sizeof(stria_header_t);  // bytes: control word and header
static_assert(kRecordHeader <= most_pio_mtu(0),
              "the longest record of a window is its longest message and this");
inline constexpr std::uint64_t kValid = 1u << 31;  // bit of each control word
inline constexpr std::uint32_t kMaxRecordBytes = (1u << 24) - 1;

/// The control word of a record with `bytes` of payload. `detail`: the lap (window), which
/// WindowSender::publish() fills in, or the key word of an invalidate record (inbox).
constexpr std::uint64_t make_control(RecordKind kind, std::uint32_t bytes,
                                     std::uint32_t detail = 0) noexcept {
  return kValid | (static_cast<std::uint64_t>(kind) << 24) | bytes | (std::uint64_t{detail} << 32);
}
/// The control word of a growing record of a window: `step`, in whole lines, is how many bytes are there when
/// the record is published. It lies beside the lap, as a number of lines.
constexpr std::uint64_t make_growing(std::uint32_t bytes, std::uint32_t step) noexcept {
  return make_control(RecordKind::growing, bytes) | (std::uint64_t{step / kLine} << 48);
}
/// The step of a growing record, in bytes.
constexpr std::uint32_t control_step(std::uint64_t control) noexcept {
  return static_cast<std::uint32_t>(control >> 48) * kLine;
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

/// The bits that all control words of a lap have in common. Laps are 1 to 65535, so zeroed memory is no
/// record of any lap.
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

/// Bytes of the key word before the payload of an invalidate record of a window.
inline constexpr std::uint32_t kInvalidatePrefix = 8;

/// Positions and lengths in a window count halves of a line. A record has one half, or an even number.
inline constexpr std::uint32_t kHalf = kLine / 2;
inline constexpr std::uint32_t kHalfPayload = kHalf - kRecordHeader;
inline constexpr std::uint32_t kFirstPayload = kLine - kRecordHeader;  // payload in a record's first line
/// Minimum payload, in bytes, that is copied line by line (hw/line_copy.hpp).
inline constexpr std::uint32_t kLinesLeast = 192;
/// How many halves of a line a record with a payload of `payload_bytes` has.
constexpr std::uint32_t record_halves(std::uint32_t payload_bytes) noexcept {
  if (payload_bytes <= kHalfPayload) return 1;
  return (kRecordHeader + payload_bytes + kLine - 1) / kLine * 2;
}
/// How many halves of a line an invalidate record has: at least a whole line. The record ends a large
/// message, and the next record is often the announcement of another one, which begins at a line. After half
/// a line it would need a pad, in a line that the receiver may have taken meanwhile.
constexpr std::uint32_t invalidate_halves(std::uint32_t bytes) noexcept {
  const std::uint32_t halves = record_halves(bytes);
  return halves < 2 ? 2 : halves;
}

/// The first of the two words of a header, put together in a register: the caller has just written the
/// fields one by one, and a wide load of them would wait for the store buffer.
inline std::uint64_t header_word(const stria_header_t& header) noexcept {
  return header.kind | (std::uint64_t{header.flags} << 8) | (std::uint64_t{header.sequence} << 16) |
         (std::uint64_t{header.immediate} << 32);
}
inline void store_header(std::byte* to, const stria_header_t& header) noexcept {
  hw::store_word(to, header_word(header));
  hw::store_word(to + 8, header.tag);
}

/// Whether the header of a record is equal to `wanted`, except for the immediate.
inline bool is_wanted(const std::byte* record, const stria_header_t& wanted) noexcept {
  const auto first = static_cast<std::uint32_t>(hw::load_word(record + 8));
  return first == static_cast<std::uint32_t>(header_word(wanted)) && hw::load_word(record + 16) == wanted.tag;
}
inline std::uint32_t immediate_of(const std::byte* record) noexcept {
  return static_cast<std::uint32_t>(hw::load_word(record + 8) >> 32);
}

}  // namespace stria::shm
