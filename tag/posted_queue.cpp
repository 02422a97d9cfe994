#include "tag/posted_queue.hpp"

#include <new>

#include "base/assert.hpp"

namespace stria::tag {

PostedQueue::PostedQueue() {
  shapes_[0].bins = std::make_unique<Bin[]>(kFirstBins);
  shapes_[0].mask = kFirstBins - 1;
}

void PostedQueue::append(Bin& bin, PostedRecv* recv) noexcept {
  recv->next = nullptr;
  recv->prev = bin.tail;
  (bin.tail == nullptr ? bin.head : bin.tail->next) = recv;
  bin.tail = recv;
}

std::uint32_t PostedQueue::shape_for(const PostedRecv& recv) noexcept {
  const bool any = recv.source == kAnySource;
  for (std::uint32_t i = 0; i < shapes_used_; ++i)
    if (shapes_[i].ignore == recv.ignore && shapes_[i].any_source == any && shapes_[i].bins != nullptr)
      return i;
  // A new shape takes a free place, or one that nobody is in any more.
  for (std::uint32_t i = 1; i < kShapes; ++i) {
    Shape& shape = shapes_[i];
    if (i < shapes_used_ && shape.count != 0) continue;
    if (shape.bins == nullptr) {
      shape.bins.reset(new (std::nothrow) Bin[kFirstBins]);
      if (shape.bins == nullptr) return kShapes;
      shape.mask = kFirstBins - 1;
    }
    shape.ignore = recv.ignore;
    shape.any_source = any;
    if (i >= shapes_used_) shapes_used_ = i + 1;
    return i;
  }
  return kShapes;
}

bool PostedQueue::grow(Shape& shape) noexcept {
  const std::uint32_t bins = 4 * (shape.mask + 1);
  std::unique_ptr<Bin[]> larger(new (std::nothrow) Bin[bins]);
  if (larger == nullptr) return false;  // stay: longer bins are slower, not wrong
  std::unique_ptr<Bin[]> old = std::move(shape.bins);
  const std::uint32_t old_mask = shape.mask;
  shape.bins = std::move(larger);
  shape.mask = bins - 1;
  // Receives that accept the same message were in one bin, in order, and are moved in that order.
  for (std::uint32_t i = 0; i <= old_mask; ++i) {
    for (PostedRecv *recv = old[i].head, *next = nullptr; recv != nullptr; recv = next) {
      next = recv->next;
      append(bin_of(shape, recv->source, recv->tag), recv);
    }
  }
  return true;
}

bool PostedQueue::push(PostedRecv* recv) noexcept {
  recv->stamp = next_stamp_++;
  recv->shape = recv->ignore == 0 && recv->source != kAnySource ? 0 : shape_for(*recv);
  if (recv->shape == kShapes) {
    append(others_, recv);
  } else {
    Shape& shape = shapes_[recv->shape];
    if (shape.count > 2 * shape.mask) grow(shape);
    append(bin_of(shape, recv->source, recv->tag), recv);
    ++shape.count;
  }
  ++size_;
  return true;
}

void PostedQueue::remove(PostedRecv* recv) noexcept {
  Bin* bin = &others_;
  if (recv->shape != kShapes) {
    Shape& shape = shapes_[recv->shape];
    bin = &bin_of(shape, recv->source, recv->tag);
    --shape.count;
  }
  unlink(*bin, recv);
}

PostedRecv* PostedQueue::match_shapes(std::uint32_t source, std::uint64_t tag) noexcept {
  PostedRecv* found = oldest(source, tag);
  if (found != nullptr) remove(found);
  return found;
}

PostedRecv* PostedQueue::oldest(std::uint32_t source, std::uint64_t tag) noexcept {
  PostedRecv* best = nullptr;
  for (std::uint32_t i = 0; i < shapes_used_; ++i) {
    Shape& shape = shapes_[i];
    if (shape.count == 0) continue;
    for (PostedRecv* recv = bin_of(shape, source, tag).head; recv != nullptr; recv = recv->next) {
      if (!recv->accepts(source, tag)) continue;
      if (best == nullptr || recv->stamp < best->stamp) best = recv;
      break;  // a bin is in order of posting
    }
  }
  for (PostedRecv* recv = others_.head; recv != nullptr; recv = recv->next) {
    if (best != nullptr && best->stamp < recv->stamp) break;
    if (recv->accepts(source, tag)) {
      best = recv;
      break;
    }
  }
  return best;
}

}  // namespace stria::tag
