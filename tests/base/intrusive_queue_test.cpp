#include "base/intrusive_queue.hpp"

#include <gtest/gtest.h>

namespace stria {
namespace {

struct Item : ListNode {};

TEST(IntrusiveQueue, gives_its_nodes_back_in_order_and_leaves_them_free) {
  Item items[4];
  IntrusiveQueue<Item> queue;
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.pop_front(), nullptr);
    for (Item& item : items) queue.push_back(&item);
    for (Item& item : items) {
      EXPECT_EQ(queue.front(), &item);
      EXPECT_TRUE(item.linked());
      EXPECT_EQ(queue.pop_front(), &item);
      EXPECT_FALSE(item.linked());
    }
  }
}

TEST(IntrusiveQueue, takes_a_node_back_to_the_front) {
  Item items[3];
  IntrusiveQueue<Item> queue;
  for (int present = 0; present < 3; ++present) {
    for (int i = 1; i <= present; ++i) queue.push_back(&items[i]);
    queue.push_front(&items[0]);
    for (int i = 0; i <= present; ++i) EXPECT_EQ(queue.pop_front(), &items[i]);
    EXPECT_TRUE(queue.empty());
  }
}

}  // namespace
}  // namespace stria
