// How a payload gets into a cell, decided in one place. plan_cell() answers from what the memory is, how far
// the peer is, how large the ring of cells is, and whether the message is in a burst. A plan is a way to
// store, and a step: the bytes that are written before the record is published, and between two stores of the
// growth word (growing.hpp). A payload without a step is published whole.
//
// clang-format off
//   contiguous, and blocks of 4 KiB on
//     way   string from string_least on; else gather (near), non-temporal (far);
//           non-temporal from 8 KiB (near), 2 KiB (far) on while the ring of cells is small
//     step  4 KiB; 8 from 16 KiB on; far: 16 from 32 KiB on.
//           Whole: up to 4096 bytes; in a burst (near: below 32 KiB); blocks that do not go by string
//   blocks of 1 to 4 KiB: gather (near), non-temporal (far)
//     step  as above. Whole: up to 4096 bytes; parts of a message (near), of more than 2 MiB (far)
//   shorter blocks: gather (near), non-temporal (far)
//     step  dense: a half; sparse: a quarter, a half if far and below 8 KiB; always 1 to 8 KiB.
//           Whole: below 2 KiB; fewer than 384 blocks below 16 KiB; dense, fewer than 1536 blocks, below 8 KiB;
//           parts of a message; columns that share their lines and are longer together than a step
// clang-format on
//
// Payloads of pio_send(), and of the inbox, are published whole: their records cannot name a cell that grows.
// docs/notebook/shm.md has the measurements.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/payload.hpp"
#include "transport/shm/gather.hpp"
#include "transport/shm/segment.hpp"
#include "transport/shm/settings.hpp"

namespace stria::shm {

// Payloads shorter than these, in bytes, are published whole.
inline constexpr std::uint32_t kGrowLeast = 4097;       // contiguous, or of blocks that go by pieces
inline constexpr std::uint32_t kPackingLeast = 2048;    // of shorter blocks, if they are many
inline constexpr std::uint32_t kPackingAnyway = 16384;  // of shorter blocks, however few
// Blocks that the processor fetches ahead are packed much faster: payloads of less than kDenseLeast bytes and
// kManyDenseRuns blocks are published whole.
inline constexpr std::uint32_t kDenseLeast = 8192;
inline constexpr std::int64_t kManyDenseRuns = 4 * transport::kManyRuns;
// Shorter payloads of sparse blocks, in bytes, are written to far peers by halves instead of quarters.
inline constexpr std::uint32_t kFarQuartersLeast = 8192;

/// Steps in bytes, and minimum payloads for the longer ones. Each step costs a line that comes and goes, and
/// kernels for small blocks begin anew. Far peers gain by long steps, near peers lose by them.
inline constexpr std::uint32_t kShortestStep = 1024, kFirstStep = 4096, kLongStep = 8192, kFarStep = 16384;
inline constexpr std::uint32_t kLongStepLeast = 16384, kFarStepLeast = 2 * kFarStep;

/// Blocks of 1 to 4 KiB: parts of a message longer than this, in bytes, are published whole to far peers,
/// too.
inline constexpr std::int64_t kLargeMessage = 2 << 20;

/// Minimum size, in bytes, for non-temporal stores while the ring of cells is small: to a near peer, to a far
/// one.
inline constexpr std::uint32_t kFewLeast = 8192, kFarFewLeast = kStringLeast;

// A record says a step as a number of lines in 16 bits, and what grows has a second step.
static_assert(kFarStep / kLine <= 0xffff && kFirstStep < kGrowLeast && 2 * kShortestStep <= kPackingLeast);

/// What is known of peer, cells and settings when a payload is to be stored to a cell.
struct CellFacts {
  /// The peer's caches are far, and the payload is long enough for that to matter (kFarNontemporalLeast).
  bool is_far = false;
  bool small_ring = false;        ///< CellPool::are_few()
  bool may_choose_stores = true;  ///< Settings::may_choose_stores()
  bool in_burst = false;          ///< other messages went before it since the last poll (burst.hpp)
  bool may_grow = true;           ///< the record can name a cell that is still being written
  /// Minimum payload, in bytes, for the string instruction, if its blocks are long.
  std::uint32_t string_least = Settings::kNever;
};

struct CellPlan {
  Way way;
  std::uint32_t step;  ///< bytes, whole lines; 0: the payload is published whole
};

/// Whether the payload is a part of a message of more than kLargeMessage bytes.
inline bool is_part_of_large(const transport::Payload& payload) noexcept {
  return transport::layout_of(payload)->size() * payload.count > kLargeMessage && !transport::is_all(payload);
}

/// The way to store. Non-temporal stores fetch no lines from the peer's cache; nor does the string
/// instruction on processors for which Settings has a minimum.
[[gnu::always_inline]] inline Way way_to_store(const transport::Payload& payload,
                                               const CellFacts& facts) noexcept {
  const bool past_caches = facts.small_ring && facts.may_choose_stores &&
                           payload.length >= (facts.is_far ? kFarFewLeast : kFewLeast);
  if ((past_caches || payload.length >= facts.string_least) && transport::has_long_blocks(payload))
    return past_caches ? Way::nontemporal : Way::string;
  return facts.is_far ? Way::nontemporal : Way::gather;
}

/// The step of contiguous memory and of blocks that go by pieces.
constexpr std::uint32_t step_of_pieces(std::uint32_t bytes, bool is_far) noexcept {
  if (is_far && bytes >= kFarStepLeast) return kFarStep;
  return bytes < kLongStepLeast ? kFirstStep : kLongStep;
}

/// The step of blocks below 1 KiB; 0: whole, where packing is over soon; where the payload is a part of a
/// message, because the next part is packed while this one is read; and where a step would be shorter than
/// columns that share their lines (turned_bytes()).
inline std::uint32_t step_of_short_blocks(const transport::Payload& payload, bool is_far) noexcept {
  if (payload.length < kPackingLeast || !transport::is_all(payload)) return 0;
  if (payload.length < kPackingAnyway && !transport::has_runs(payload, transport::kManyRuns)) return 0;
  const bool sparse = transport::is_sparse(payload);
  if (!sparse && payload.length < kDenseLeast && !transport::has_runs(payload, kManyDenseRuns)) return 0;
  // To far peers, by non-temporal stores, the end of each step takes as long as packing so few lines.
  const bool by_quarters = sparse && !(is_far && payload.length < kFarQuartersLeast);
  const auto bytes = static_cast<std::uint32_t>(payload.length);
  const std::uint32_t step =
      std::clamp(bytes / (by_quarters ? 4 : 2) / kLine * kLine, kShortestStep, kLongStep);
  return transport::turned_bytes(payload) > step ? 0 : step;
}

/// The step of a payload that has a layout; 0: whole.
inline std::uint32_t step_of_blocks(const transport::Payload& payload, Way way,
                                    const CellFacts& facts) noexcept {
  if (!transport::goes_by_pieces(payload)) return step_of_short_blocks(payload, facts.is_far);
  if (payload.length < kGrowLeast) return 0;
  if (transport::has_long_blocks(payload)) {
    if (way != Way::string) return 0;
  } else if (facts.is_far ? is_part_of_large(payload) : !transport::is_all(payload)) {
    // A near peer reads a part of a message while the next part is packed. To a far peer a part is packed by
    // non-temporal stores, which take longer than reading it; only in large messages do both wait for memory.
    return 0;
  }
  return step_of_pieces(static_cast<std::uint32_t>(payload.length), facts.is_far);
}

/// How to write the payload of a packet to a cell.
[[gnu::always_inline]] inline CellPlan plan_cell(const transport::Payload& payload,
                                                 const CellFacts& facts) noexcept {
  const Way way = way_to_store(payload, facts);
  if (!facts.may_grow) return {way, 0};
  // In a burst the peer has other payloads to read first, and each step would hold this process up: long
  // steps little where the peer is near, and any step where its lines come from far.
  const bool whole = facts.in_burst && (payload.length < kFarStepLeast || facts.is_far);
  if (whole && transport::has_long_blocks(payload)) return {way, 0};
  if (payload.layout != nullptr) return {way, step_of_blocks(payload, way, facts)};
  if (payload.length < kGrowLeast) return {way, 0};
  return {way, step_of_pieces(static_cast<std::uint32_t>(payload.length), facts.is_far)};
}

}  // namespace stria::shm
