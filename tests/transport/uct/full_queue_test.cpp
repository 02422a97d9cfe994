// Sleeping while a peer in shared memory has a full queue.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/contract/peer.hpp"
#include "transport/uct/uct.hpp"

namespace stria::uct {
namespace {

using contract::drive;
using contract::Path;
using contract::Peer;

// Nothing would wake the device when the queue has room again. UCX refuses to arm its descriptor meanwhile.
TEST(UctFullQueue, a_device_does_not_sleep_while_its_hello_waits_for_room) {
  ::setenv("STRIA_UCT_TRANSPORT", "posix", 1);  // before a device opens
  Peer still(uct_provider(), 1), sender(uct_provider(), 2), other(uct_provider(), 3);
  stria_link_t* const link = sender.connect(still);
  const contract::Bytes data = contract::pattern(1, 8);
  std::uint16_t sequence = 0;
  ASSERT_EQ(
      contract::send({&sender, &still}, sender, link, Path::buffered, contract::header(sequence++), data),
      Status::ok);
  while (sender.try_send(link, Path::buffered, contract::header(sequence), data.data(), data.size()) ==
         Status::ok)
    ++sequence;
  const auto may_sleep = [&] { return other.table().arm(other.device()) == STRIA_OK; };
  other.connect(still);
  for (int i = 0; i < 10; ++i) {
    other.progress();
    EXPECT_FALSE(may_sleep());
  }
  ASSERT_TRUE(drive({&still, &other}, [&] { return still.ups.count(3) == 1; })) << "the hello never arrives";
  EXPECT_TRUE(drive({&other}, may_sleep));
  EXPECT_TRUE(drive({&still}, [&] { return still.received.size() == sequence; }));
}

}  // namespace
}  // namespace stria::uct
