#include "tag/posted_queue.hpp"

#include <new>

namespace stria::tag {

PostedQueue::PostedQueue() {
  if (!shapes_[0].table.open()) throw std::bad_alloc();
}

/// Returns the index of the shape that `recv` belongs to, and gives a new shape a place. kShapes: no place is
/// free, or memory is exhausted; the receive then goes to the searched list.
std::uint32_t PostedQueue::shape_for(const PostedRecv& recv) noexcept {
  const bool any = recv.source == kAnySource;
  for (std::uint32_t i = 0; i < shapes_used_; ++i)
    if (shapes_[i].ignore == recv.ignore && shapes_[i].any_source == any && shapes_[i].table.is_open())
      return i;
  // A new shape takes an unused place, or the place of a shape that has no receives left.
  for (std::uint32_t i = 1; i < kShapes; ++i) {
    Shape& shape = shapes_[i];
    if (i < shapes_used_ && shape.count != 0) continue;
    if (!shape.table.open()) return kShapes;
    shape.ignore = recv.ignore;
    shape.any_source = any;
    if (i >= shapes_used_) shapes_used_ = i + 1;
    return i;
  }
  return kShapes;
}

void PostedQueue::push_wildcard(PostedRecv* recv) noexcept {
  recv->stamp = next_stamp_++;
  recv->shape = shape_for(*recv);
  ++size_;
  ++wildcards_;
  if (recv->shape == kShapes) {
    recv->next = nullptr;
    recv->prev = others_.tail;
    (others_.tail == nullptr ? others_.head : others_.tail->next) = recv;
    others_.tail = recv;
    return;
  }
  Shape& shape = shapes_[recv->shape];
  const PostedItems items{shape.ignore};
  shape.table.push(items, recv, items.key_of(recv));
  ++shape.count;
}

void PostedQueue::put_back(PostedRecv* recv) noexcept {
  ++size_;
  if (recv->shape != 0) ++wildcards_;
  if (recv->shape == kShapes) {
    PostedRecv* after = others_.head;
    while (after != nullptr && after->stamp < recv->stamp) after = after->next;
    recv->next = after;
    recv->prev = after == nullptr ? others_.tail : after->prev;
    (recv->prev == nullptr ? others_.head : recv->prev->next) = recv;
    (after == nullptr ? others_.tail : after->prev) = recv;
    return;
  }
  Shape& shape = shapes_[recv->shape];
  const PostedItems items{shape.ignore};
  shape.table.put_back(items, recv, items.key_of(recv));
  if (recv->shape != 0) ++shape.count;
}

void PostedQueue::put_back_for(PostedRecv* recv, std::uint32_t source) noexcept {
  if (recv->source == kAnySource) {
    recv->source = source;
    recv->shape = kShapes;  // the searched list may hold receives of any shape, in the order of posting
  }
  put_back(recv);
}

void PostedQueue::unlink_other(PostedRecv* recv) noexcept {
  (recv->prev == nullptr ? others_.head : recv->prev->next) = recv->next;
  (recv->next == nullptr ? others_.tail : recv->next->prev) = recv->prev;
  forget(*recv);
}

void PostedQueue::remove(PostedRecv* recv) noexcept {
  if (recv->shape == kShapes) {
    unlink_other(recv);
    return;
  }
  Shape& shape = shapes_[recv->shape];
  const PostedItems items{shape.ignore};
  shape.table.remove(items, recv, items.key_of(recv));
  forget(*recv);
}

PostedRecv* PostedQueue::match_shapes(std::uint32_t source, std::uint64_t tag) noexcept {
  PostedRecv* best = nullptr;
  for (std::uint32_t i = 0; i < shapes_used_; ++i) {
    Shape& shape = shapes_[i];
    if (i != 0 && shape.count == 0) continue;
    PostedRecv* const recv =
        shape.table.oldest(PostedItems{shape.ignore}, shape_key(source, tag, shape.any_source, shape.ignore));
    if (recv != nullptr && (best == nullptr || recv->stamp < best->stamp)) best = recv;
  }
  for (PostedRecv* recv = others_.head; recv != nullptr; recv = recv->next) {
    if (best != nullptr && best->stamp < recv->stamp) break;
    if (recv->accepts(source, tag)) {
      best = recv;
      break;
    }
  }
  if (best != nullptr) remove(best);
  return best;
}

}  // namespace stria::tag
