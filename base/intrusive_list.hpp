// An intrusive, circular, doubly linked list: each element derives from its node, nothing is allocated, and
// an element leaves its list in O(1) without knowing which one it is in.
#pragma once

#include "base/assert.hpp"

namespace stria {

struct ListNode {
  ListNode* next = nullptr;
  ListNode* prev = nullptr;

  bool linked() const noexcept { return next != nullptr; }
  void unlink() noexcept {
    STRIA_ASSERT(next != nullptr && prev != nullptr, "unlink of a node in no list");
    prev->next = next;
    next->prev = prev;
    next = prev = nullptr;
  }
};

/// T derives from ListNode (once). Does not own its elements.
template <class T>
class IntrusiveList {
 public:
  IntrusiveList() noexcept { head_.next = head_.prev = &head_; }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  bool empty() const noexcept { return head_.next == &head_; }
  T* front() noexcept { return empty() ? nullptr : static_cast<T*>(head_.next); }
  /// The element after `node`, or null.
  T* next(T* node) noexcept {
    STRIA_ASSERT(node->linked(), "the node is in no list");
    return node->next == &head_ ? nullptr : static_cast<T*>(node->next);
  }
  void push_back(T* node) noexcept {
    STRIA_ASSERT(!node->linked(), "the node is in a list");
    node->next = &head_;
    node->prev = head_.prev;
    head_.prev->next = node;
    head_.prev = node;
  }
  T* pop_front() noexcept {
    T* node = front();
    if (node != nullptr) node->unlink();
    return node;
  }

 private:
  ListNode head_;
};

}  // namespace stria
