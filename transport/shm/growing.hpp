// Cells that are read while they are written. The record that names such a cell is published when its first
// step is there; a word behind the cell, in a line of its own, says how many bytes are, and the receiver
// copies what has come and waits for more. So a message costs little more than one copy where it would cost
// two.
//
//   sender    first step ── record ── more bytes ── word ── … ── all bytes ── word
//   receiver                record ── copies the first step ── copies up to word ── … ── frees the cell
//
// The word also says for which use of the cell it speaks, so that nothing has to be stored, and no line to
// change hands, before the record. When the sender stands still in the middle, the receiver waits some
// microseconds, and then leaves the record in the window: it is delivered again when the word says that the
// payload is all there, or when the sender is gone. Only this sender's packets wait meanwhile, and it has
// none behind it: it is in the middle of this one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "stria/provider.h"
#include "transport/payload.hpp"
#include "transport/shm/gather.hpp"
#include "transport/shm/record.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

inline constexpr std::uint32_t kGrowLeast = 4097;  // a shorter cell is published whole

inline constexpr std::uint32_t kPackingLeast = 2048;    // likewise, of blocks that are packed
inline constexpr std::uint32_t kPackingAnyway = 16384;  // however few blocks
// Blocks that the processor fetches ahead are packed in a quarter of the time: 0.2 us for 500 of them.
inline constexpr std::uint32_t kDenseLeast = 8192;
inline constexpr std::uint32_t kFarQuartersLeast = 8192;  // sparse ones, far: shorter ones by halves
inline constexpr std::int64_t kManyDenseRuns = 4 * transport::kManyRuns;

inline constexpr std::uint32_t kLongestStep = 8192, kFarStep = 16384;  // bytes
inline constexpr std::uint32_t kFarStepLeast = 2 * kFarStep;           // shorter payloads go in short steps
/// How much of a payload is written between two stores of the word. So much is there when the record is. Each
/// step costs a line that comes and goes (0.05 us near, 0.25 far), and kernels for small blocks begin anew.
/// Far peers gain by steps of 16 KiB from 32 KiB on (Zen 5, 64 KiB: 3.5 to 3.0 us, 128 KiB: 6.5 to 5.1), near
/// ones lose by them (1.38 to 1.43, 2.49 to 2.55).
constexpr std::uint32_t growth_step(RecordKind kind, std::uint32_t bytes) noexcept {
  if (kind == RecordKind::growing) return bytes < 16384 ? 4096 : kLongestStep;
  if (kind == RecordKind::growing_far) return kFarStep;
  const std::uint32_t parts = kind == RecordKind::packing ? 2 : 4;
  return std::clamp<std::uint32_t>(bytes / parts / kLine * kLine, 1024, kLongestStep);
}

inline constexpr std::int64_t kLargeMessage = 2 << 20;
/// Whether it is a part of a message of more than so many bytes.
inline bool is_part_of(const transport::Payload& payload, std::int64_t least) noexcept {
  const std::int64_t all = transport::layout_of(payload)->size() * payload.count;
  return all > least && payload.length != all;
}

/// As what a cell with this payload is published. Whole, where packing is over soon, or it is a part of a
/// longer message, of which the next part is packed meanwhile; and by vectors, where blocks are longer than a
/// step.
inline RecordKind kind_of_blocks(const transport::Payload& payload, Way way) noexcept {
  if (transport::goes_by_pieces(payload)) {
    if (payload.length < kGrowLeast) return RecordKind::cell;
    // Past the caches, to a far peer, packing a part takes longer than reading the one before.
    const bool in_steps = transport::has_long_blocks(payload) ? way == Way::string
                          : way == Way::stream                ? !is_part_of(payload, kLargeMessage)
                                                              : !is_part_of(payload, 0);
    return in_steps ? RecordKind::growing : RecordKind::cell;
  }
  if (payload.length < kPackingLeast || !transport::is_all(payload)) return RecordKind::cell;
  const std::int64_t runs = transport::runs_of(payload);
  if (payload.length < kPackingAnyway && runs < transport::kManyRuns) return RecordKind::cell;
  if (transport::turned_bytes(payload) > kLongestStep) return RecordKind::cell;
  // Past the caches each step of so few lines takes as long as packing it.
  if (transport::is_sparse(payload))
    return way == Way::stream && payload.length < kFarQuartersLeast ? RecordKind::packing
                                                                    : RecordKind::packing_sparse;
  return payload.length < kDenseLeast && runs < kManyDenseRuns ? RecordKind::cell : RecordKind::packing;
}

[[gnu::always_inline]] inline RecordKind kind_of_cell(const transport::Payload& payload, Way way) noexcept {
  if (payload.layout != nullptr) return kind_of_blocks(payload, way);
  return payload.length < kGrowLeast ? RecordKind::cell : RecordKind::growing;
}

/// What the word holds: bytes in the lower half, the use of the cell above.
constexpr std::uint64_t growth_of(std::uint32_t use, std::uint32_t bytes) noexcept {
  return bytes | (std::uint64_t{use} << 32);
}
/// How many bytes a word means; 0: it speaks of another use.
constexpr std::uint32_t grown_bytes(std::uint64_t word, std::uint32_t use) noexcept {
  return word >> 32 == use ? static_cast<std::uint32_t>(word) : 0;
}

/// Writes the payload, and calls `publish` once, when its first step is there.
template <class Publish>
void grow(const transport::Payload& payload, std::byte* cell, std::atomic<std::uint64_t>& word,
          std::uint32_t use, Way way, RecordKind kind, Publish publish) noexcept {
  const auto bytes = static_cast<std::uint32_t>(payload.length);
  const std::uint32_t step = growth_step(kind, bytes);
  for (std::uint32_t at = 0; at < bytes;) {
    const std::uint32_t part = std::min(step, bytes - at);
    store(way, transport::slice(payload, at, part), cell + at);
    at += part;
    if (at == part)
      publish();
    else
      word.store(growth_of(use, at), std::memory_order_release);
  }
}

/// Waits some microseconds, at most, until so many bytes of such a cell are there, by its word, and answers
/// how many: at most `all`, whatever a peer writes. For no bytes it does not wait.
std::uint32_t wait_grown(const std::atomic<std::uint64_t>& word, std::uint32_t use, std::uint32_t bytes,
                         std::uint32_t all) noexcept;

/// A packet out of such a cell, as the sink sees it; is_over: its sender writes nothing any more; `distance`:
/// STRIA_PACKET_NEAR, or 0.
class Growing {
 public:
  Growing(RecordKind kind, const stria_header_t& header, const std::byte* cell, std::uint32_t bytes,
          const std::atomic<std::uint64_t>& word, std::uint32_t use, bool is_over, std::uint32_t distance = 0,
          std::uint64_t keep = 0) noexcept
      : arriving_{{&header, cell, bytes, STRIA_PACKET_ARRIVING | distance, keep}, &Growing::arrived},
        first_(std::min(growth_step(kind, bytes), bytes)),
        use_(use),
        is_over_(is_over),
        word_(&word) {
    __builtin_prefetch(&word);
  }

  const stria_packet_t& packet() const noexcept { return arriving_.packet; }
  /// As stria_arriving_t says.
  std::uint32_t wait(std::uint32_t bytes) const noexcept {
    if (bytes <= first_) return first_;
    const std::uint32_t there = wait_grown(*word_, use_, bytes, arriving_.packet.bytes);
    return there >= bytes ? there : is_over_ ? 0 : std::max(there, first_);
  }
  /// Whether there is nothing to wait for: all of it came, or no more will.
  bool is_done() const noexcept {
    return is_over_ || wait_grown(*word_, use_, 0, arriving_.packet.bytes) == arriving_.packet.bytes;
  }

 private:
  static std::uint32_t arrived(const stria_arriving_t* self, std::uint32_t bytes) noexcept {
    return reinterpret_cast<const Growing*>(self)->wait(bytes);
  }

  stria_arriving_t arriving_;  // first: the sink knows us by it
  std::uint32_t first_;
  std::uint32_t use_;
  bool is_over_;
  const std::atomic<std::uint64_t>* word_;
};

}  // namespace stria::shm
