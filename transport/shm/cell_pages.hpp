// When cells get their pages. A page costs microseconds when it is first written, and again when its receiver
// first reads it: message by message the first hundred of 16 KiB took 10 to 18 us each, and 0.7 when their
// pages were there. So pages come together, part by part: a part is the lower halves of the cells that go
// round first (cells.hpp), or these cells whole, or one of both of all the others. Programs that send no such
// messages have no memory there, and those that send few, or short ones, little.
//
// Sender and receiver count on their own, each payload once: whoever receives has seen no more of a part than
// its sender wrote there, so the pages are there to be mapped.
#pragma once

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
    if (i >= settled_cells_ || end > settled_bytes_) [[unlikely]]
      count(segment, i, end, how);
  }

 private:
  struct Part {
    std::uint8_t lower_halves = 0, whole = 0;  // uses, up to kUsesBeforePages
  };

  [[gnu::cold, gnu::noinline]] void count(const SegmentView& segment, std::uint32_t i, std::uint32_t end,
                                          Pages how) noexcept;

  // Nothing is to be counted of the cells before one, up to so many bytes.
  std::uint32_t settled_cells_ = 0;
  std::uint32_t settled_bytes_ = 0;
  Part first_, others_;
};

}  // namespace stria::shm
