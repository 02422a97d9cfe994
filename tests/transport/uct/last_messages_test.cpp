// What a peer in shared memory sent before it closed, taken by a worker that has no receive for it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "tests/contract/peer.hpp"
#include "transport/uct/uct.hpp"

namespace stria::uct {
namespace {

using contract::drive;
using contract::Path;
using contract::Peer;

// UCX brings several messages a call, and of these the worker takes one; the others are stashed. When the
// last stashed one is handled, more may be in UCX's queue.
TEST(UctLastMessages, are_all_delivered_before_the_link_goes_down) {
  ::setenv("STRIA_UCT_TRANSPORT", "posix", 1);  // before a device opens
  Peer slow(uct_provider(), 1);
  slow.goes_on = false;
  auto sender = std::make_unique<Peer>(uct_provider(), 2);
  stria_link_t* const link = sender->connect(slow);
  const contract::Bytes data = contract::pattern(1, 8);
  std::uint16_t sent = 0;
  ASSERT_EQ(
      contract::send({sender.get(), &slow}, *sender, link, Path::buffered, contract::header(sent++), data),
      Status::ok);
  ASSERT_TRUE(drive({sender.get(), &slow}, [&] { return slow.received.size() == 1; }));
  while (sent < 60 && sender->try_send(link, Path::buffered, contract::header(sent), data.data(),
                                       data.size()) == Status::ok)
    ++sent;
  ASSERT_GT(sent, 30);
  sender.reset();
  slow.check();  // sees by the kernel that the sender is closed
  ASSERT_TRUE(drive({&slow}, [&] { return !slow.downs.empty(); }));
  EXPECT_EQ(slow.received.size(), sent);
}

}  // namespace
}  // namespace stria::uct
