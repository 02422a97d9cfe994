// Senders that die, or stop, in the middle of telling the receiver about a record: what they began must not
// keep others from telling about theirs.
#include "tests/transport/shm/inside.hpp"
#include "transport/shm/hints.hpp"

namespace stria::shm::test {
namespace {

TEST(ShmTelling, half_a_hint_of_a_dead_sender_does_not_hide_the_records_of_the_windows_next_one) {
  const Settings one = {{"STRIA_SHM_WINDOWS", "1"}};
  Visitor victim(
      2,
      [](const SegmentView& hub, std::uint32_t, const Bytes&) {
        hub.header().hints.windows[0].fetch_or(1);  // leave(0), up to its second store
        return true;
      },
      one);
  Node hub(1, one), sender(3, one);
  victim.connect_to(hub);
  stria_link_t* link = sender.connect(hub);
  ASSERT_NE(link, nullptr) << sender.error;
  ASSERT_TRUE(until([&] { return hub.ups.size() == 2; }, [&] { hub.progress(); }));
  ASSERT_EQ(sender.limits(link).pio_max, 0u) << "the window is the other's";
  victim.act();
  victim.kill();
  ASSERT_TRUE(until([&] { return hub.downs.count(2) > 0; }, [&] { hub.check(); }));
  for (std::uint64_t tag = 0; tag < 100; ++tag)
    ASSERT_EQ(sender.eager(link, header(tag), pattern(tag, 8)), Status::ok);
  ASSERT_TRUE(until([&] { return hub.got.size() == 100; }, [&] { hub.progress(); }));
  sender.check();
  ASSERT_GT(sender.limits(link).pio_max, 0u) << "it has the window now";
  ASSERT_EQ(sender.pio(link, header(100), pattern(100, 8)), Status::ok);
  EXPECT_TRUE(until([&] { return hub.got.size() == 101; }, [&] { hub.progress(), hub.check(); }, 3))
      << "nobody looks at the window";
}

}  // namespace
}  // namespace stria::shm::test
