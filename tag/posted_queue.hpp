// The posted queue. Receives are kept by shape: which bits of the tag they ignore, and whether they name a
// source. All receives of one shape lie in one hash table, so that an arriving message looks into one bin of
// each shape in use, and takes the oldest receive that fits; stamps restore MPI's order between the shapes. A
// program uses two or three shapes (exact, any source, any tag); shapes beyond kShapes share a list that is
// searched.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "tag/match_hash.hpp"
#include "transport/contract.hpp"

namespace stria::tag {

/// A receive that waits for its message. Intrusive; the memory is the request's.
struct PostedRecv {
  PostedRecv* next = nullptr;
  PostedRecv* prev = nullptr;
  std::uint64_t stamp = 0;
  std::uint64_t tag = 0;
  std::uint64_t ignore = 0;
  std::uint32_t source = kAnySource;  ///< peer index
  std::uint32_t shape = 0;            ///< where the queue keeps it
  transport::Payload memory{};

  bool accepts(std::uint32_t from, std::uint64_t message_tag) const noexcept {
    return ((tag ^ message_tag) & ~ignore) == 0 && (source == kAnySource || source == from);
  }
};

/// Threads: the worker's lock.
class PostedQueue {
 public:
  PostedQueue();

  /// Appends. Allocates only when a table grows; false when memory is out, nothing changed.
  bool push(PostedRecv* recv) noexcept;
  /// Removes and returns the oldest receive that accepts the message, or null. O(shapes in use), expected.
  PostedRecv* match(std::uint32_t source, std::uint64_t tag) noexcept {
    if (size_ == 0) return nullptr;
    Shape& exact = shapes_[0];
    if (exact.count != size_) return match_shapes(source, tag);
    // The usual case: every receive names its source and its tag.
    Bin& bin = exact.bins[match_hash(source, tag) & exact.mask];
    for (PostedRecv* recv = bin.head; recv != nullptr; recv = recv->next) {
      if (recv->tag != tag || recv->source != source) continue;
      unlink(bin, recv);
      --exact.count;
      return recv;
    }
    return nullptr;
  }
  void remove(PostedRecv* recv) noexcept;
  std::uint64_t size() const noexcept { return size_; }

  /// Any element, for teardown and for a failed peer: calls f(PostedRecv&) on each; f may remove the one it
  /// is given.
  template <class F>
  void for_each(F&& f) {
    for (Shape& shape : shapes_) {
      for (std::uint32_t i = 0; shape.count != 0 && i <= shape.mask; ++i) walk(shape.bins[i], f);
    }
    walk(others_, f);
  }

 private:
  static constexpr std::uint32_t kShapes = 4;
  static constexpr std::uint32_t kFirstBins = 64;
  struct Bin {
    PostedRecv* head = nullptr;
    PostedRecv* tail = nullptr;
  };
  struct Shape {
    std::uint64_t ignore = 0;
    bool any_source = false;
    std::uint32_t count = 0;
    std::uint32_t mask = 0;
    std::unique_ptr<Bin[]> bins;
  };
  template <class F>
  static void walk(Bin& bin, F& f) {
    for (PostedRecv *recv = bin.head, *next = nullptr; recv != nullptr; recv = next) {
      next = recv->next;
      f(*recv);
    }
  }
  static Bin& bin_of(Shape& shape, std::uint32_t source, std::uint64_t tag) noexcept {
    return shape.bins[match_hash(shape.any_source ? kAnySource : source, tag & ~shape.ignore) & shape.mask];
  }
  static void append(Bin& bin, PostedRecv* recv) noexcept;
  void unlink(Bin& bin, PostedRecv* recv) noexcept {
    (recv->prev == nullptr ? bin.head : recv->prev->next) = recv->next;
    (recv->next == nullptr ? bin.tail : recv->next->prev) = recv->prev;
    recv->next = recv->prev = nullptr;
    --size_;
  }
  PostedRecv* match_shapes(std::uint32_t source, std::uint64_t tag) noexcept;
  PostedRecv* oldest(std::uint32_t source, std::uint64_t tag) noexcept;
  std::uint32_t shape_for(const PostedRecv& recv) noexcept;
  static bool grow(Shape& shape) noexcept;

  std::uint64_t size_ = 0;
  std::uint64_t next_stamp_ = 0;
  std::uint32_t shapes_used_ = 1;  // shape 0 is the exact one
  std::array<Shape, kShapes> shapes_;
  Bin others_;
};

}  // namespace stria::tag
