// When cells get their pages. A round of them (cells.hpp) fits a huge page, and a kernel that gives one on
// demand (6.1 and later) mostly does so in 0.2 ms, where ordinary pages take 1.3, and a receiver maps it by
// one fault. In 5 to 25 ms, though, where other cores are busy: the kernel waits for each of them. So
// ordinary cells have theirs before the first message, and only the long ones, which many programs never
// need, once they are used.
//
// Before that, and where there is none, pages come as they are needed. A page costs microseconds when it is
// first written, and again when its receiver first reads it: message by message the first hundred of 16 KiB
// took 10 to 18 us each, and 0.7 when their pages were there. So a cell gets them in one call as it is first
// used by a payload that is not short: the lower half of its pages, or all of them. Programs that send few
// messages, or short ones, have little memory there, as few cells go round at first (cells.hpp).
//
// Sender and receiver count on their own, each payload once: whoever receives has seen no cell that its
// sender did not use, so the pages are there to be mapped.
#pragma once

#include <array>
#include <cstdint>

#include "transport/shm/segment.hpp"

namespace stria::shm {

inline constexpr std::uint32_t kFewPages = 1024;     // bytes: payloads so short take few pages
inline constexpr std::size_t kMostPages = 8u << 20;  // bytes at once

/// Of the cells of one size. One thread.
class CellPages {
 public:
  /// A payload of more than kFewPages is, or will be, in cell `i`, up to `end` bytes from the cell's begin.
  void used(const SegmentView& segment, std::uint32_t i, std::uint32_t end, Pages how) noexcept {
    if (i >= settled_[end > half_ ? kWhole : kLowerHalf]) [[unlikely]]
      count(segment, i, end, how);
  }
  /// One huge page for the cells from `first` on, `cells` of them, the sender's. False: there is none.
  [[gnu::cold, gnu::noinline]] bool become_huge(const SegmentView& segment, std::uint32_t first,
                                                std::uint32_t cells) noexcept;

 private:
  enum : std::size_t { kLowerHalf, kWhole };

  [[gnu::cold, gnu::noinline]] void count(const SegmentView& segment, std::uint32_t i, std::uint32_t end,
                                          Pages how) noexcept;

  std::array<std::uint32_t, 2> settled_{};  // the cells before this one have such pages
  std::uint32_t half_ = 0;                  // bytes; 0: no use yet
};

}  // namespace stria::shm
