// Reassembly: which bytes of a message have come beyond the first byte that is missing. A fragment carries
// its place in the message, so fragments may come in any order: by several links, or by the two paths of one
// link (PIO and buffered).
//
//   0 ........ moved      begin .... end      begin .. end       length
//   |  all here  |  gap  |   a range   | gap |  a range |   gap   |
//
// Most messages never need a Reassembly: the fragments of one link come in order, and only `moved` grows. A
// range appears when a fragment overtakes another one, grows with its neighbours, and goes when the gap
// before it is closed. The number of ranges is limited, so that a peer that sends its fragments badly on
// purpose costs a bounded amount of memory. An honest peer leaves at most as many gaps as it has fragments in
// flight.
//
// A Reassembly also has the ranges that a provider is placing: their bytes are reserved, and not there yet.
// Each such range has the number of the device whose link brings it, because the range is dropped when that
// link dies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace stria::rndv {

class Reassembly {
 public:
  static constexpr std::size_t kMaxRanges = 1024;  ///< ranges at a time
  /// Ranges being placed at a time. Links deliver in order, and read one or two fragments ahead.
  static constexpr std::size_t kMaxPlaced = 64;

  bool empty() const noexcept { return ranges_.empty() && placed_.empty(); }
  /// Whether a byte of [begin, end) is there, or is being placed.
  bool overlaps(std::uint64_t begin, std::uint64_t end) const noexcept {
    for (const Placed& one : placed_)
      if (one.begin < end && begin < one.end) return true;
    const auto after = std::lower_bound(ranges_.begin(), ranges_.end(), end, begins_before);
    return after != ranges_.begin() && (after - 1)->end > begin;
  }
  /// Adds the range [begin, end), for which overlaps() is false. False: there are kMaxRanges ranges, and
  /// nothing changed. Throws std::bad_alloc.
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
      if (ranges_.size() == kMaxRanges) return false;
      ranges_.insert(after, {begin, end});
    }
    return true;
  }
  /// Removes the range that begins at `at`, because all bytes before `at` are there now. Returns the first
  /// missing byte: the end of that range, or `at` when there is no such range.
  std::uint64_t remove_from(std::uint64_t at) noexcept {
    if (ranges_.empty() || ranges_.front().begin != at) return at;
    const std::uint64_t end = ranges_.front().end;
    ranges_.erase(ranges_.begin());
    return end;
  }
  /// The begin of the range that ends at `at` or contains it; `at` when no range does.
  std::uint64_t begin_of_range_up_to(std::uint64_t at) const noexcept {
    const auto after = std::lower_bound(ranges_.begin(), ranges_.end(), at, begins_before);
    return after != ranges_.begin() && (after - 1)->end >= at ? (after - 1)->begin : at;
  }
  /// The end of the range that contains the byte `at`; `at` when no range does.
  std::uint64_t end_of_range_at(std::uint64_t at) const noexcept {
    const auto after = std::lower_bound(ranges_.begin(), ranges_.end(), at + 1, begins_before);
    return after != ranges_.begin() && (after - 1)->end > at ? (after - 1)->end : at;
  }
  /// The begin of the first range behind the byte `at`; `limit` when there is none before `limit`.
  std::uint64_t begin_of_range_after(std::uint64_t at, std::uint64_t limit) const noexcept {
    const auto after = std::lower_bound(ranges_.begin(), ranges_.end(), at + 1, begins_before);
    return after != ranges_.end() ? std::min(after->begin, limit) : limit;
  }
  void clear() noexcept {
    ranges_.clear();
    placed_.clear();
  }

  bool is_placing() const noexcept { return !placed_.empty(); }
  /// Notes that a provider places [begin, end), for which overlaps() is false, by a link of `device`.
  /// False: kMaxPlaced ranges are being placed already. Throws std::bad_alloc.
  bool start_placing(std::uint64_t begin, std::uint64_t end, std::uint8_t device) {
    if (placed_.size() == kMaxPlaced) return false;
    placed_.push_back({begin, end, device});
    return true;
  }
  /// Notes that the range [begin, end) is not being placed any more. False: it was not being placed.
  bool stop_placing(std::uint64_t begin, std::uint64_t end) noexcept {
    return std::erase_if(placed_, [=](const Placed& one) { return one.begin == begin && one.end == end; }) !=
           0;
  }
  /// Drops the ranges that a link of `device` was bringing: the link is dead.
  void stop_placing_by(std::uint8_t device) noexcept {
    std::erase_if(placed_, [=](const Placed& one) { return one.device == device; });
  }

  Reassembly* next = nullptr;  ///< in a ReassemblyPool: the next spare one

 private:
  struct Range {
    std::uint64_t begin, end;
  };
  struct Placed {
    std::uint64_t begin, end;
    std::uint8_t device;
  };
  static bool begins_before(const Range& range, std::uint64_t at) noexcept { return range.begin < at; }

  std::vector<Range> ranges_;   // sorted by begin; no two overlap or touch
  std::vector<Placed> placed_;  // in no order
};

/// The spare Reassemblies of an engine: no receive uses them, and they keep the memory of their ranges.
class ReassemblyPool {
 public:
  ReassemblyPool() = default;
  ReassemblyPool(const ReassemblyPool&) = delete;
  ReassemblyPool& operator=(const ReassemblyPool&) = delete;
  ~ReassemblyPool() {
    while (spare_ != nullptr) delete std::exchange(spare_, spare_->next);
  }

  /// Returns an empty Reassembly, spare or new. Throws std::bad_alloc.
  Reassembly* acquire() {
    if (spare_ == nullptr) return new Reassembly;
    return std::exchange(spare_, spare_->next);
  }
  /// Notes that bytes [begin, end) of a receive came, none of them a second time. The receive has all bytes
  /// before `moved`. `of_receive` is its Reassembly, or null: one is taken when it is needed, and given back
  /// when it is empty. False: there are Reassembly::kMaxRanges ranges, or no memory to remember one more; the
  /// bytes are not noted.
  [[gnu::noinline]] bool note_received(Reassembly*& of_receive, std::uint64_t& moved, std::uint64_t begin,
                                       std::uint64_t end) noexcept try {
    if (begin != moved) {
      if (of_receive == nullptr) of_receive = acquire();
      return of_receive->add(begin, end);
    }
    moved = end;
    if (of_receive == nullptr) return true;
    moved = of_receive->remove_from(end);
    if (of_receive->empty()) release(of_receive);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
  /// Takes the Reassembly back from its receive, and sets `of_receive` to null. No effect when it is null.
  void release(Reassembly*& of_receive) noexcept {
    Reassembly* const reassembly = std::exchange(of_receive, nullptr);
    if (reassembly == nullptr) return;
    reassembly->clear();
    reassembly->next = std::exchange(spare_, reassembly);
  }

 private:
  Reassembly* spare_ = nullptr;
};

}  // namespace stria::rndv
