// The buffers that long eager payloads are packed into are limited, and come back when UCX has read them.
#include "transport/uct/pack_buffers.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace stria::uct {
namespace {

uct_ep_h endpoint(std::uintptr_t number) {
  return reinterpret_cast<uct_ep_h>(number * 64);  // NOLINT(performance-no-int-to-ptr): never looked at
}
/// What UCX does when it has read the packet.
void complete(PackBuffer& buffer) {
  buffer.func(&buffer);
}
std::vector<PackBuffer*> take_all(PackBuffers& buffers, uct_ep_h to) {
  std::vector<PackBuffer*> out;
  while (PackBuffer* const taken = buffers.take(to)) out.push_back(taken);
  return out;
}

TEST(UctPackBuffers, are_limited_and_used_again_when_ucx_has_read_them) {
  PackBuffers buffers;
  const auto all = take_all(buffers, endpoint(1));
  EXPECT_EQ(std::set<PackBuffer*>(all.begin(), all.end()).size(), all.size());
  ASSERT_GT(all.size(), 1u);
  complete(*all[1]);
  EXPECT_EQ(buffers.take(endpoint(2)), all[1]);
  EXPECT_EQ(all[1]->count, 1);
  EXPECT_EQ(buffers.take(endpoint(2)), nullptr);
}

TEST(UctPackBuffers, of_an_endpoint_that_was_destroyed_come_back_and_no_others) {
  PackBuffers buffers;
  PackBuffer* const other = buffers.take(endpoint(2));
  const auto all = take_all(buffers, endpoint(1));
  buffers.reclaim(endpoint(1));
  EXPECT_EQ(take_all(buffers, endpoint(3)).size(), all.size());
  complete(*other);
  EXPECT_EQ(buffers.take(endpoint(3)), other);
  buffers.reclaim(endpoint(1));
  EXPECT_EQ(buffers.take(endpoint(3)), nullptr);
}

}  // namespace
}  // namespace stria::uct
