// What fragments brought of a message beyond the first byte that is missing. Fragments say where they belong,
// and may come in any order: by several links, or by the two paths of one.
//
//   0 ........ moved      begin .... end      begin .. end       length
//   |  all here  |  gap  |   a range   | gap |  a range |   gap   |
//
// Most messages never need one: fragments of one link come in order, and then only `moved` grows. A range
// appears with a fragment that overtook another, grows with its neighbours, and goes when the gap before it
// is closed. The number of ranges is limited, so that a peer that sends its fragments badly on purpose costs
// a bounded amount of memory; an honest one has as many gaps as fragments under way at most.
//
// Beside them are the ranges that a provider is placing: their bytes are spoken for, and not there yet. Each
// remembers the device whose link they come by, as they are given up when that link dies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace stria::rndv {

class Ahead {
 public:
  static constexpr std::size_t kMost = 1024;
  static constexpr std::size_t kMostPlaced =
      64;  ///< at a time; links deliver in order, and read one or two ahead

  bool empty() const noexcept { return ranges_.empty() && placed_.empty(); }
  /// Whether a byte of [begin, end) is there, or is being placed.
  bool meets(std::uint64_t begin, std::uint64_t end) const noexcept {
    for (const Placed& one : placed_)
      if (one.begin < end && begin < one.end) return true;
    const auto after = std::lower_bound(ranges_.begin(), ranges_.end(), end, begins_before);
    return after != ranges_.begin() && (after - 1)->end > begin;
  }
  /// Adds [begin, end), which meets nothing. False: there are kMost ranges. Throws std::bad_alloc.
  bool add(std::uint64_t begin, std::uint64_t end) {
    const auto after = std::lower_bound(ranges_.begin(), ranges_.end(), end, begins_before);
    const bool joins_after = after != ranges_.end() && after->begin == end;
    const bool joins_before = after != ranges_.begin() && (after - 1)->end == begin;
    if (joins_before && joins_after) {
      (after - 1)->end = after->end;
      ranges_.erase(after);
    } else if (joins_before) {
      (after - 1)->end = end;
    } else if (joins_after) {
      after->begin = begin;
    } else {
      if (ranges_.size() == kMost) return false;
      ranges_.insert(after, {begin, end});
    }
    return true;
  }
  /// All before `at` is there now. Takes out the range that begins there; where it ended, or `at`.
  std::uint64_t take_from(std::uint64_t at) noexcept {
    if (ranges_.empty() || ranges_.front().begin != at) return at;
    const std::uint64_t end = ranges_.front().end;
    ranges_.erase(ranges_.begin());
    return end;
  }
  /// All from `at` on is there. The first byte of the range that reaches it, or `at`.
  std::uint64_t reaching(std::uint64_t at) const noexcept {
    const auto after = std::lower_bound(ranges_.begin(), ranges_.end(), at, begins_before);
    return after != ranges_.begin() && (after - 1)->end >= at ? (after - 1)->begin : at;
  }
  /// Where the range ends that the byte `at` belongs to; `at` when it belongs to none.
  std::uint64_t end_of_range_at(std::uint64_t at) const noexcept {
    const auto after = std::lower_bound(ranges_.begin(), ranges_.end(), at + 1, begins_before);
    return after != ranges_.begin() && (after - 1)->end > at ? (after - 1)->end : at;
  }
  /// Where the first range behind the byte `at` begins, at most `limit`.
  std::uint64_t begin_of_range_after(std::uint64_t at, std::uint64_t limit) const noexcept {
    const auto after = std::lower_bound(ranges_.begin(), ranges_.end(), at + 1, begins_before);
    return after != ranges_.end() ? std::min(after->begin, limit) : limit;
  }
  void clear() noexcept {
    ranges_.clear();
    placed_.clear();
  }

  bool is_placing() const noexcept { return !placed_.empty(); }
  /// [begin, end), which meets nothing, is placed from now on. False: there are kMostPlaced. Throws
  /// std::bad_alloc.
  bool start_placing(std::uint64_t begin, std::uint64_t end, std::uint8_t device) {
    if (placed_.size() == kMostPlaced) return false;
    placed_.push_back({begin, end, device});
    return true;
  }
  /// [begin, end) is not placed any more. False: it was not.
  bool stop_placing(std::uint64_t begin, std::uint64_t end) noexcept {
    return std::erase_if(placed_, [=](const Placed& one) { return one.begin == begin && one.end == end; }) !=
           0;
  }
  /// Nothing is placed by the device any more.
  void stop_placing_by(std::uint8_t device) noexcept {
    std::erase_if(placed_, [=](const Placed& one) { return one.device == device; });
  }

  Ahead* next = nullptr;  ///< of the spare ones

 private:
  struct Range {
    std::uint64_t begin, end;
  };
  struct Placed {
    std::uint64_t begin, end;
    std::uint8_t device;
  };
  static bool begins_before(const Range& range, std::uint64_t at) noexcept { return range.begin < at; }

  std::vector<Range> ranges_;  // by begin; none meets or touches another
  std::vector<Placed> placed_;
};

/// Those that no receive has, which keep the memory of their ranges.
class AheadPool {
 public:
  AheadPool() = default;
  AheadPool(const AheadPool&) = delete;
  AheadPool& operator=(const AheadPool&) = delete;
  ~AheadPool() {
    while (spare_ != nullptr) delete std::exchange(spare_, spare_->next);
  }

  /// An empty one. Throws std::bad_alloc.
  Ahead* take() {
    if (spare_ == nullptr) return new Ahead;
    return std::exchange(spare_, spare_->next);
  }
  /// Bytes [begin, end) came of a receive that has all before `moved`, and none of them twice; `of_receive`
  /// may be null. False: there are Ahead::kMost gaps, or no memory to remember them, and nothing changed.
  [[gnu::noinline]] bool came(Ahead*& of_receive, std::uint64_t& moved, std::uint64_t begin,
                              std::uint64_t end) noexcept try {
    if (begin != moved) {
      if (of_receive == nullptr) of_receive = take();
      return of_receive->add(begin, end);
    }
    moved = end;
    if (of_receive == nullptr) return true;
    moved = of_receive->take_from(end);
    if (of_receive->empty()) give_back(of_receive);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
  /// Takes it from its receive, which may have none.
  void give_back(Ahead*& of_receive) noexcept {
    Ahead* const ahead = std::exchange(of_receive, nullptr);
    if (ahead == nullptr) return;
    ahead->clear();
    ahead->next = std::exchange(spare_, ahead);
  }

 private:
  Ahead* spare_ = nullptr;
};

}  // namespace stria::rndv
