#include "datatype/flat.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace stria::datatype {
namespace {

constexpr std::int64_t kMostPieces = 2 * kRecordMoves;
constexpr std::int64_t kFewElements = 3;  // below, starting a loop for each piece costs more than it saves
/// A stretch here is the elements that the loops of all pieces copy before the next elements are begun: so
/// many bytes of both sides together, which stay in a first-level cache of 32 KiB.
constexpr std::int64_t kStretchBytes = 12288;
constexpr std::int64_t kStretchLeast = 8, kStretchMost = 128;  // elements
/// Entries of a list of 32 bits that are widened at once, when the list of the other side has 64 bits.
constexpr std::int64_t kWidened = 256;

/// The address that the pieces of the next elements are relative to: the base of their list, or, without a
/// list, the next element.
Address base_of(const Place& p) noexcept {
  return p.sequence.list == nullptr ? p() : p.list_base();
}

/// Goes through the runs of a flat sequence in stream order.
class Runs {
 public:
  /// Begins at a place of a sequence.
  explicit Runs(const Place& p) noexcept : Runs(p, base_of(p)) {
    if (p.sequence.list != nullptr) to_entry(p.sequence.entry(p.next));
  }
  /// Goes through the runs of one element that lies at address 0.
  explicit Runs(const Sequence& s) noexcept : Runs({s, 0, 0}, 0) {}
  // moves_ may point to own_, so a copy would point into the original.
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;
  ~Runs() = default;

  Address at() const noexcept { return moved(element_, move_->memory + inside_); }
  std::int64_t left() const noexcept { return move_->bytes - inside_; }
  /// n <= left().
  void advance(std::int64_t n) noexcept {
    inside_ += n;
    if (inside_ < move_->bytes) return;
    inside_ = 0;
    if (++move_ != moves_.data() + moves_.size()) return;
    move_ = moves_.data();
    if (sequence_.list == nullptr || entry_ < 0) {
      element_ = moved(element_, sequence_.stride);
    } else if (++entry_ < sequence_.entries) {
      to_entry(entry_);
    } else {
      base_ = moved(base_, sequence_.stride);
      to_entry(0);
    }
  }

 private:
  Runs(const Place& p, Address base) noexcept
      : sequence_(p.sequence),
        moves_(p.sequence.moves(own_)),
        move_(moves_.data()),
        base_(base),
        element_(base) {
    inside_ = p.inside;
    for (; inside_ >= move_->bytes; ++move_) inside_ -= move_->bytes;
  }
  void to_entry(std::int64_t entry) noexcept {
    entry_ = entry;
    element_ = moved(base_, (*sequence_.list)[static_cast<std::size_t>(entry)]);
  }

  Move own_;
  const Sequence& sequence_;
  std::span<const Move> moves_;
  const Move* move_;
  Address base_, element_;
  std::int64_t entry_ = -1;  // of the list; below 0: no list is followed
  std::int64_t inside_;      // bytes of the move that are done
};

/// Copies `length` bytes piece after piece, in stream order.
void copy_singly(const Kernels& k, const Place& from, const Place& to, std::int64_t length) noexcept {
  if (length == 0) return;
  Runs a(from), b(to);
  while (length > 0) {
    const std::int64_t n = std::min({a.left(), b.left(), length});
    copy_run(k, b.at(), a.at(), n);
    a.advance(n);
    b.advance(n);
    length -= n;
  }
}

/// Part of an element that is one run on both sides; `from` and `to` are relative to the element of each
/// side.
struct CommonRun {
  std::int64_t from, to, bytes;
};
/// The pieces of an element.
struct CommonRuns {
  CommonRuns(const Sequence& from, const Sequence& to) noexcept {
    std::int64_t left = from.child->size;
    if (from.runs() == 1 && to.runs() == 1) {
      list[0] = {0, 0, left};
      count = 1;
      return;
    }
    Runs a(from), b(to);
    while (left > 0) {
      const std::int64_t n = std::min(a.left(), b.left());
      list[static_cast<std::size_t>(count++)] = {static_cast<std::int64_t>(a.at()),
                                                 static_cast<std::int64_t>(b.at()), n};
      a.advance(n);
      b.advance(n);
      left -= n;
    }
  }
  std::span<const CommonRun> all() const noexcept {
    return std::span(list).first(static_cast<std::size_t>(count));
  }

  std::array<CommonRun, kMostPieces> list;
  std::int64_t count = 0;
};

/// The next `n` places of a list as 64 bits each: the list's own array, or a widened copy in `room`.
const std::int64_t* wide_list(const Place& p, std::int64_t n, std::int64_t* room) noexcept {
  if (!p.sequence.list->is_narrow()) return p.list_at<std::int64_t>();
  std::copy_n(p.list_at<std::int32_t>(), n, room);
  return room;
}

template <class Int>
void copy_listed(const Kernels& k, const Place& from, const Place& to, std::span<const CommonRun> pieces,
                 std::int64_t n) noexcept {
  const ListKernels<Int>& lists = k.lists<Int>();
  const Address source = base_of(from), sink = base_of(to);
  for (const CommonRun& p : pieces) {
    const kernel::Width width = kernel::width_of(p.bytes);
    const Address here = moved(source, p.from), there = moved(sink, p.to);
    if (to.sequence.list == nullptr)
      lists.indexed[kPacking][width](here, from.list_at<Int>(), n, there, to.sequence.stride, p.bytes);
    else if (from.sequence.list == nullptr)
      lists.indexed[kUnpacking][width](there, to.list_at<Int>(), n, here, from.sequence.stride, p.bytes);
    else
      lists.indexed_across[width]({here, from.list_at<Int>(), there, to.list_at<Int>()}, n, p.bytes);
  }
}

/// Copies `n` elements; the elements of each side lie within one repetition of a list, or at one stride.
void copy_together(const Kernels& k, const Place& from, const Place& to, std::span<const CommonRun> pieces,
                   std::int64_t n) noexcept {
  const Offsets *a = from.sequence.list, *b = to.sequence.list;
  if (a == nullptr && b == nullptr) {
    for (const CommonRun& p : pieces)
      k.strided[kernel::width_of(p.bytes)](moved(from(), p.from), from.sequence.stride, moved(to(), p.to),
                                           to.sequence.stride, n, p.bytes);
  } else if (a != nullptr && b != nullptr && a->is_narrow() != b->is_narrow()) {
    std::array<std::int64_t, kWidened> room;  // only the narrow list of the two is widened
    const std::int64_t *places_a = wide_list(from, n, room.data()), *places_b = wide_list(to, n, room.data());
    for (const CommonRun& p : pieces)
      k.wide.indexed_across[kernel::width_of(p.bytes)](
          {moved(from.list_base(), p.from), places_a, moved(to.list_base(), p.to), places_b}, n, p.bytes);
  } else if ((a != nullptr ? a : b)->is_narrow()) {
    copy_listed<std::int32_t>(k, from, to, pieces, n);
  } else {
    copy_listed<std::int64_t>(k, from, to, pieces, n);
  }
}

/// Estimate of the bytes of cache lines that one element of a side takes.
std::int64_t touched(const Sequence& s) noexcept {
  const std::int64_t lines = s.child->size + 64 * s.runs();
  return s.list != nullptr ? lines : std::min(kernel::magnitude(s.stride), lines);
}

}  // namespace

bool flats_match(const Place& from, const Place& to) noexcept {
  const Sequence &a = from.sequence, &b = to.sequence;
  return a.child->size == b.child->size && from.inside == to.inside && a.is_flat() && b.is_flat();
}

bool permutes_across(const Kernels& k, const Place& from, const Place& to) noexcept {
  const Record *a = from.sequence.record, *b = to.sequence.record;
  return a != nullptr && b != nullptr && k.permute_across != nullptr && a->permutation.records > 0 &&
         b->permutation.records > 0 && flats_match(from, to);
}

void copy_flat(const Kernels& k, Place from, Place to, std::int64_t length) noexcept {
  const Sequence &a = from.sequence, &b = to.sequence;
  if (from.inside > 0) {
    const std::int64_t head = std::min(a.child->size - from.inside, length);
    copy_singly(k, from, to, head);
    from.advance(head);
    to.advance(head);
    length -= head;
  }
  std::int64_t whole = elements_in(length, *a.child);
  const std::int64_t done = whole * a.child->size;
  if (whole > 0 && permutes_across(k, from, to)) {
    k.permute_across(a.record->permutation, from(), a.stride, b.record->permutation, to(), b.stride, whole);
    from.next += whole;
    to.next += whole;
    return copy_singly(k, from, to, length - done);
  }
  if (whole < kFewElements) return copy_singly(k, from, to, length);
  const CommonRuns pieces(a, b);
  std::int64_t stretch = INT64_MAX;
  if (pieces.count > 1) {
    // A division of 32 bits, which takes a part of the time of one of 64.
    const auto both =
        static_cast<std::uint32_t>(std::clamp(touched(a) + touched(b), std::int64_t{1}, kStretchBytes));
    stretch = std::clamp<std::int64_t>(static_cast<std::uint32_t>(kStretchBytes) / both, kStretchLeast,
                                       kStretchMost);
    // A loop for each piece changes the order of writing, which is not allowed where elements overlap.
    if (std::min(stretch, whole) > b.disjoint_count()) return copy_singly(k, from, to, length);
  }
  if (a.list != nullptr && b.list != nullptr && a.list->is_narrow() != b.list->is_narrow())
    stretch = std::min(stretch, kWidened);
  while (whole > 0) {
    const std::int64_t n = std::min({whole, stretch, a.together(from.next), b.together(to.next)});
    copy_together(k, from, to, pieces.all(), n);
    from.next += n;
    to.next += n;
    whole -= n;
  }
  copy_singly(k, from, to, length - done);
}

}  // namespace stria::datatype
