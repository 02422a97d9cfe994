// PostedQueue: the receives that wait for messages. They are kept by shape: which bits of the tag they
// ignore, and whether they name a source. All receives of one shape lie in one table of queues. So an
// arriving message looks into one queue of each shape in use, and takes the oldest receive that fits; stamps
// restore MPI's order between the shapes. A program uses two or three shapes (exact, any source, any tag);
// receives of further shapes than kShapes are in one list, which is searched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.hpp"
#include "tag/match_table.hpp"
#include "transport/contract.hpp"

namespace stria::tag {

/// A receive that waits for its message; it lies in the memory of its request. The members that matching
/// looks at come first: they are in one cache line of a request (request.hpp).
struct PostedRecv {
  PostedRecv* next;
  PostedRecv* chain;
  std::uint64_t tag;
  std::uint32_t source;  ///< peer index
  std::uint32_t shape;   ///< index of the shape under which the queue keeps the receive; kShapes: in the list
  std::uint64_t stamp;   ///< order of posting
  PostedRecv* prev;
  // The queue sets the members above, but for tag and source. The owner of the receive sets these two and the
  // members below.
  std::uint64_t ignore;
  transport::Payload memory;

  bool accepts(std::uint32_t from, std::uint64_t message_tag) const noexcept {
    return ((tag ^ message_tag) & ~ignore) == 0 && (source == kAnySource || source == from);
  }
};

/// For MatchTable: the links and keys of receives whose shape ignores the bits `ignore` of the tag.
struct PostedItems {
  using Ref = PostedRecv*;
  static constexpr Ref kNone = nullptr;
  static constexpr bool kHasPrev = true;

  std::uint64_t ignore;

  static Ref& next(Ref recv) noexcept { return recv->next; }
  static Ref& prev(Ref recv) noexcept { return recv->prev; }
  static Ref& chain(Ref recv) noexcept { return recv->chain; }
  MatchKey key_of(Ref recv) const noexcept { return {recv->source, recv->tag & ~ignore}; }
  bool has_key(Ref recv, const MatchKey& key) const noexcept { return key_of(recv) == key; }
};

/// Threads: called with the worker's lock held.
class PostedQueue {
 public:
  PostedQueue();

  /// Appends a receive whose tag, source and ignored bits are set. Allocates only when a table grows.
  void push(PostedRecv* recv) noexcept {
    if (recv->source == kAnySource || recv->ignore != 0)
      push_wildcard(recv);
    else
      push_exact(recv);
  }
  /// Appends a receive that names its source and its whole tag.
  void push_exact(PostedRecv* recv) noexcept {
    recv->stamp = next_stamp_++;
    ++size_;
    recv->shape = 0;
    shapes_[0].table.push(PostedItems{0}, recv, {recv->source, recv->tag});
  }
  /// Removes and returns the oldest receive that accepts the message, or null. O(shapes in use), expected.
  PostedRecv* match(std::uint32_t source, std::uint64_t tag) noexcept {
    if (wildcards_ != 0) return match_shapes(source, tag);
    // The usual case: every receive names its source and its tag.
    PostedRecv* const found = shapes_[0].table.take(PostedItems{0}, {source, tag});
    if (found != nullptr) --size_;
    return found;
  }
  /// Puts back the receive that match() returned. Nothing may have been posted or removed since.
  [[gnu::cold, gnu::noinline]] void put_back(PostedRecv* recv) noexcept;
  /// Puts back the receive that match() returned, as put_back() does; from now on it accepts messages of
  /// `source` alone.
  [[gnu::cold, gnu::noinline]] void put_back_for(PostedRecv* recv, std::uint32_t source) noexcept;
  /// Removes a receive that is in the queue.
  void remove(PostedRecv* recv) noexcept;
  std::uint64_t size() const noexcept { return size_; }

  /// Removes all receives for which f(PostedRecv&) is true, and returns them linked by `next`. f posts and
  /// removes nothing.
  template <class F>
  PostedRecv* remove_if(F&& f) {
    PostedRecv* taken = nullptr;
    for (Shape& shape : shapes_) {
      if (!shape.table.is_open()) continue;
      shape.table.remove_if(PostedItems{shape.ignore}, [&](PostedRecv* recv) {
        if (!f(*recv)) return false;
        recv->next = taken;
        taken = recv;
        forget(*recv);
        return true;
      });
    }
    for (PostedRecv *recv = others_.head, *next = nullptr; recv != nullptr; recv = next) {
      next = recv->next;
      if (!f(*recv)) continue;
      unlink_other(recv);
      recv->next = taken;
      taken = recv;
    }
    return taken;
  }

 private:
  static constexpr std::uint32_t kShapes = 4;
  struct Shape {
    std::uint64_t ignore = 0;
    bool any_source = false;
    std::uint64_t count = 0;  // receives of the shape; not counted for the exact one
    MatchTable<PostedItems> table;
  };
  [[gnu::noinline]] void push_wildcard(PostedRecv* recv) noexcept;
  [[gnu::noinline]] PostedRecv* match_shapes(std::uint32_t source, std::uint64_t tag) noexcept;
  std::uint32_t shape_for(const PostedRecv& recv) noexcept;
  void unlink_other(PostedRecv* recv) noexcept;
  /// Updates the counts for a receive that has left the queue.
  void forget(const PostedRecv& recv) noexcept {
    --size_;
    if (recv.shape == 0) return;
    --wildcards_;
    if (recv.shape != kShapes) --shapes_[recv.shape].count;
  }

  std::uint64_t wildcards_ = 0;  // receives of all shapes but the exact one
  std::uint64_t size_ = 0;
  std::uint64_t next_stamp_ = 0;
  std::uint32_t shapes_used_ = 1;  // shape 0 is the exact one
  std::array<Shape, kShapes> shapes_;
  struct {
    PostedRecv* head = nullptr;
    PostedRecv* tail = nullptr;
  } others_;  // receives that are in no table, in order of posting
};

}  // namespace stria::tag
