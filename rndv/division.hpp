// A division: how the receiver of one long message shares it out among the links to its sender. Each link is
// asked for the next piece when it is free, so a slow one gets fewer. The links are a link of the worker to
// the peer that is up in any case (the main link) and those by further devices (rails).
//
//   0 ......... moved     (what is there, from `moved` on: ahead.hpp)
//   |  all here  | piece, main | piece, rail 1 | piece, rail 2 | gap of a dead rail | piece | ... free ... |
//                                                              ^ next_
//
// What is neither there nor asked for is free. There is no list of it: next_ is a place before which nothing
// is free, and a search from there on steps over what is there and what is asked for. When a link dies, its
// pieces are forgotten and next_ goes back to the first of them; so what came of them already is not asked
// for again, and the rest is.
//
// A fragment is taken only within a piece that was asked of the link that it came by. Of a message that is
// read (rail_reader.hpp) a piece is a get, and comes as a whole or not at all.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/cache_line.hpp"
#include "rndv/ahead.hpp"
#include "stria/stria.h"
#include "transport/link_ref.hpp"

namespace stria::rndv {

class Division {
 public:
  /// Pieces that a link is asked for at a time: one on its way, and the next, so that a link never waits for
  /// the request.
  static constexpr unsigned kDepth = 2;
  /// Pieces of all links at a time.
  static constexpr std::size_t kMost = std::size_t{kDepth} * STRIA_DEVICES_MAX;

  struct Range {
    std::uint64_t begin, end;
    bool empty() const noexcept { return begin == end; }
  };

  /// Nothing is asked for.
  void clear() noexcept { next_ = count_ = 0; }

  /// Bytes of a message of `length` from the first that may be free on: at most so many are.
  std::uint64_t free_at_most(std::uint64_t moved, std::uint64_t length) const noexcept {
    return length - std::max(next_, moved);
  }
  /// The first bytes that are neither there nor asked for, at most `bytes`. Empty: there are none. `moved`
  /// and `ahead` (or null) say what is there, `length` where the message ends.
  Range next(std::uint64_t moved, const Ahead* ahead, std::uint64_t length, std::uint64_t bytes) noexcept {
    std::uint64_t at = std::max(next_, moved);
    for (std::uint64_t before = at + 1; before != at;) {
      before = at;
      for (const Piece& one : asked())
        if (one.begin <= at && at < one.end) at = one.end;
      if (ahead != nullptr) at = ahead->end_of_range_at(at);
    }
    next_ = at;
    if (at >= length) return {at, at};
    std::uint64_t end = std::min(length, bytes < length - at ? at + bytes : length);
    for (const Piece& one : asked())
      if (one.begin > at) end = std::min(end, one.begin);
    if (ahead != nullptr) end = std::min(end, ahead->begin_of_range_after(at, end));
    return {at, end};
  }
  /// The link was asked for these bytes, which next() gave.
  void ask(const transport::LinkRef& link, const Range& range) noexcept {
    pieces_[count_++] = {range.begin, range.end, range.end - range.begin, &link};
    next_ = range.end;
  }
  /// Whether the link may be asked for another piece.
  bool has_room(const transport::LinkRef& link, unsigned depth = kDepth) const noexcept {
    return count_ < pieces_.size() && outstanding(link) < depth;
  }
  unsigned outstanding(const transport::LinkRef& link) const noexcept {
    return static_cast<unsigned>(
        std::count_if(asked().begin(), asked().end(), [&](const Piece& one) { return one.link == &link; }));
  }
  /// Whether the bytes lie within one piece that the link was asked for.
  bool expects(const transport::LinkRef& link, std::uint64_t begin, std::uint64_t bytes) noexcept {
    return find(link, begin, bytes) != nullptr;
  }
  /// They came, and none of them twice. True: with them the piece is whole, and the link is free for another.
  bool came(const transport::LinkRef& link, std::uint64_t begin, std::uint64_t bytes) noexcept {
    Piece* const piece = find(link, begin, bytes);
    if (piece == nullptr) return false;  // the link died between the naming of a place and the last byte
    piece->left -= bytes;
    if (piece->left != 0) return false;
    *piece = pieces_[--count_];
    return true;
  }
  /// The link does not bring this piece: its bytes are free again.
  void give_back(const transport::LinkRef& link, const Range& range) noexcept {
    Piece* const piece = find(link, range.begin, range.end - range.begin);
    if (piece == nullptr) return;
    next_ = std::min(next_, piece->begin);
    *piece = pieces_[--count_];
  }
  /// The link is dead: what it did not bring is free again. False: it was asked for nothing.
  bool give_back(const transport::LinkRef& link) noexcept {
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
    std::uint64_t left;  // bytes that did not come
    const transport::LinkRef* link;
  };
  std::span<const Piece> asked() const noexcept { return {pieces_.data(), count_}; }
  Piece* find(const transport::LinkRef& link, std::uint64_t begin, std::uint64_t bytes) noexcept {
    for (unsigned i = 0; i < count_; ++i) {
      Piece& one = pieces_[i];
      if (one.link == &link && one.begin <= begin && begin < one.end && bytes <= one.end - begin) return &one;
    }
    return nullptr;
  }

  std::uint64_t next_ = 0;
  unsigned count_ = 0;
  std::array<Piece, kMost> pieces_;  // in no order
};

/// How long the next piece is to be, of `free` bytes that no link was asked for, and at most `most`. The
/// links share half of what is free at once, and whichever is free first is asked for more of the rest then.
/// So pieces get shorter towards the end of a message, and it does not wait long for the last one of a slow
/// link while the others have nothing to do.
inline std::uint64_t piece_bytes(std::uint64_t free, std::size_t links, std::uint64_t most) noexcept {
  constexpr std::uint64_t kLeast = 65536;
  const std::uint64_t share = free / (2 * links * Division::kDepth);
  return std::clamp(share / kCacheLine * kCacheLine, std::min(kLeast, most), most);
}

}  // namespace stria::rndv
