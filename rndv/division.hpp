// Division: how the receiver of one long message divides it among the links to the sender. A link is asked
// for its next piece when it is free, so a slow link gets fewer pieces. The links are the main link, which is
// up in any case, and the links by further devices (rails).
//
//   0 ......... moved     (what is there, from `moved` on: reassembly.hpp)
//   |  all here  | piece, main | piece, rail 1 | piece, rail 2 | gap of a dead rail | piece | ... free ... |
//                                                              ^ next_
//
// A byte that is neither there nor asked for is free. No list of the free bytes is kept: next_ is a place
// before which no byte is free, and a search from next_ on steps over the bytes that are there or asked for.
// When a link dies, its pieces are forgotten, and next_ goes back to the first of them. Bytes of these pieces
// that have come are there, so only the rest is asked for again.
//
// A fragment is accepted only within a piece that was asked of the link by which the fragment came. Of a
// message that is read (rail_reader.hpp) a piece is one get, and counts as a whole or not at all.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/cache_line.hpp"
#include "rndv/reassembly.hpp"
#include "stria/stria.h"
#include "transport/link_ref.hpp"

namespace stria::rndv {

class Division {
 public:
  /// Pieces that one link is asked for at a time: one on its way, and the next, so that the link never waits
  /// for a request.
  static constexpr unsigned kDepth = 2;
  /// Pieces that all links together are asked for at a time.
  static constexpr std::size_t kMaxPieces = std::size_t{kDepth} * STRIA_DEVICES_MAX;

  struct Range {
    std::uint64_t begin, end;
    bool empty() const noexcept { return begin == end; }
  };

  /// Forgets all pieces: no byte is asked for.
  void clear() noexcept { next_ = count_ = 0; }

  /// An upper bound of the free bytes of a message of `length`: the bytes from the first one on that may be
  /// free.
  std::uint64_t free_at_most(std::uint64_t moved, std::uint64_t length) const noexcept {
    return length - std::max(next_, moved);
  }
  /// The first run of free bytes, cut to `bytes`. Empty: no byte is free. The bytes before `moved`, and those
  /// in `reassembly` (may be null), are there; the message ends at `length`.
  Range next(std::uint64_t moved, const Reassembly* reassembly, std::uint64_t length,
             std::uint64_t bytes) noexcept {
    std::uint64_t at = std::max(next_, moved);
    for (std::uint64_t before = at + 1; before != at;) {
      before = at;
      for (const Piece& one : assigned())
        if (one.begin <= at && at < one.end) at = one.end;
      if (reassembly != nullptr) at = reassembly->end_of_range_at(at);
    }
    next_ = at;
    if (at >= length) return {at, at};
    std::uint64_t end = std::min(length, bytes < length - at ? at + bytes : length);
    for (const Piece& one : assigned())
      if (one.begin > at) end = std::min(end, one.begin);
    if (reassembly != nullptr) end = std::min(end, reassembly->begin_of_range_after(at, end));
    return {at, end};
  }
  /// Assigns `range`, which next() returned, to the link: the link was asked for it, or reads it.
  void assign(const transport::LinkRef& link, const Range& range) noexcept {
    pieces_[count_++] = {range.begin, range.end, range.end - range.begin, &link};
    next_ = range.end;
  }
  /// Whether the link may be asked for another piece: fewer than `depth` are asked of it.
  bool has_room(const transport::LinkRef& link, unsigned depth = kDepth) const noexcept {
    return count_ < pieces_.size() && outstanding(link) < depth;
  }
  unsigned outstanding(const transport::LinkRef& link) const noexcept {
    return static_cast<unsigned>(std::count_if(assigned().begin(), assigned().end(),
                                               [&](const Piece& one) { return one.link == &link; }));
  }
  /// Whether the bytes lie within one piece that the link was asked for.
  bool expects(const transport::LinkRef& link, std::uint64_t begin, std::uint64_t bytes) noexcept {
    return find(link, begin, bytes) != nullptr;
  }
  /// Notes that these bytes came by the link, none of them a second time. True: their piece is whole now, and
  /// the link is free for another.
  bool note_received(const transport::LinkRef& link, std::uint64_t begin, std::uint64_t bytes) noexcept {
    Piece* const piece = find(link, begin, bytes);
    // Null: the link died after memory was named for the bytes, and before the last of them came.
    if (piece == nullptr) return false;
    piece->left -= bytes;
    if (piece->left != 0) return false;
    *piece = pieces_[--count_];
    return true;
  }
  /// Makes the bytes of a piece free again: the link does not bring it.
  void release(const transport::LinkRef& link, const Range& range) noexcept {
    Piece* const piece = find(link, range.begin, range.end - range.begin);
    if (piece == nullptr) return;
    next_ = std::min(next_, piece->begin);
    *piece = pieces_[--count_];
  }
  /// Makes the bytes of all pieces of a dead link free again, as far as they did not come. False: the link
  /// had no piece.
  bool release_all(const transport::LinkRef& link) noexcept {
    const unsigned before = count_;
    for (unsigned i = 0; i < count_;) {
      if (pieces_[i].link != &link) {
        ++i;
        continue;
      }
      next_ = std::min(next_, pieces_[i].begin);
      pieces_[i] = pieces_[--count_];
    }
    return count_ != before;
  }

 private:
  struct Piece {
    std::uint64_t begin, end;
    std::uint64_t left;  // bytes of the piece that have not come
    const transport::LinkRef* link;
  };
  std::span<const Piece> assigned() const noexcept { return {pieces_.data(), count_}; }
  Piece* find(const transport::LinkRef& link, std::uint64_t begin, std::uint64_t bytes) noexcept {
    for (unsigned i = 0; i < count_; ++i) {
      Piece& one = pieces_[i];
      if (one.link == &link && one.begin <= begin && begin < one.end && bytes <= one.end - begin) return &one;
    }
    return nullptr;
  }

  std::uint64_t next_ = 0;
  unsigned count_ = 0;
  std::array<Piece, kMaxPieces> pieces_;  // in no order
};

/// The length of the next piece, at most `most`, when `free` bytes are asked of no link. All links together
/// are asked for half of the free bytes; a link that is done sooner is then asked for more of the rest. So
/// pieces get shorter towards the end of a message, and the message does not wait long for the last piece of
/// a slow link while the other links have nothing to do.
inline std::uint64_t piece_bytes(std::uint64_t free, std::size_t links, std::uint64_t most) noexcept {
  constexpr std::uint64_t kLeast = 65536;
  const std::uint64_t even_piece = free / (2 * links * Division::kDepth);
  return std::clamp(even_piece / kCacheLine * kCacheLine, std::min(kLeast, most), most);
}

}  // namespace stria::rndv
