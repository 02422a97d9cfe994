// An intrusive first-in, first-out queue of one pointer, for objects of which there are many and whose queue
// is mostly empty. Its nodes are linked in a ring of their own, without a head among them:
//
//   first_ ──► oldest ──► … ──► newest ──┐
//                ▲───────────────────────┘
//
// So a node leaves by the queue's functions alone; ListNode::unlink() would leave first_ dangling.
#pragma once

#include "base/intrusive_list.hpp"

namespace stria {

/// T derives from ListNode (once), or is it. Does not own its elements.
template <class T>
class IntrusiveQueue {
 public:
  IntrusiveQueue() noexcept = default;
  IntrusiveQueue(const IntrusiveQueue&) = delete;
  IntrusiveQueue& operator=(const IntrusiveQueue&) = delete;

  bool empty() const noexcept { return first_ == nullptr; }
  T* front() noexcept { return static_cast<T*>(first_); }
  void push_back(T* node) noexcept {
    STRIA_ASSERT(!node->linked(), "the node is in a list");
    if (first_ == nullptr) {
      node->next = node->prev = first_ = node;
      return;
    }
    node->next = first_;
    node->prev = first_->prev;
    first_->prev->next = node;
    first_->prev = node;
  }
  void push_front(T* node) noexcept {
    push_back(node);
    first_ = node;
  }
  /// Removes and returns the first element, or null.
  T* pop_front() noexcept {
    ListNode* const node = first_;
    if (node == nullptr) return nullptr;
    first_ = node->next == node ? nullptr : node->next;
    node->unlink();
    return static_cast<T*>(node);
  }

 private:
  ListNode* first_ = nullptr;
};

}  // namespace stria
