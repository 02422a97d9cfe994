// When cells get their pages. A page costs microseconds when it is first written, and again when its receiver
// first reads it: message by message the first hundred of 16 KiB took 10 to 18 us each, and 0.7 when their
// pages were there. So pages come together, part by part: a part is the lower halves of the cells that go
// round first (cells.hpp), or these cells whole, or one of both of all the others. Programs that send no such
// messages have no memory there, and those that send few, or short ones, little.
//
// Sender and receiver count on their own, each payload once: whoever receives has seen no more of a part than
// its sender wrote there, so the pages are there to be mapped.
#pragma once

#include <array>
#include <cstdint>

#include "transport/shm/segment.hpp"

namespace stria::shm {

inline constexpr std::uint32_t kFewPages = 1024;  // bytes: payloads so short take few pages
/// A part gets its pages at this use by a longer one.
inline constexpr std::uint32_t kUsesBeforePages = 4;
inline constexpr std::size_t kMostPages = 8u << 20;  // bytes of one part, however many cells there are

/// Of the cells of one size. One thread.
class CellPages {
 public:
  /// A payload of more than kFewPages is, or will be, in cell `i`, up to `end` bytes from the cell's begin.
  void used(const SegmentView& segment, std::uint32_t i, std::uint32_t end, Pages how) noexcept {
    const bool whole = end > bytes_of_cell(segment.shape(), i) / 2;
    const bool first = segment.is_first_cell(i);
    std::uint8_t* uses = &uses_[first ? 0 : 2];  // of the lower halves, of the whole
    if (uses[whole] >= kUsesBeforePages || ++uses[whole] < kUsesBeforePages) [[likely]]
      return;
    if (whole) uses[0] = kUsesBeforePages;  // they come with it
    have_pages_of_part(segment, i, whole, how);
  }

 private:
  [[gnu::cold]] static void have_pages_of_part(const SegmentView& segment, std::uint32_t i, bool whole,
                                               Pages how) noexcept;

  std::array<std::uint8_t, 4> uses_{};
};

}  // namespace stria::shm
