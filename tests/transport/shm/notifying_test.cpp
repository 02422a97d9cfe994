// Senders that die, or stop, in the middle of telling the receiver about a record: what they began must not
// keep others from telling about theirs.
#include <dlfcn.h>
#include <signal.h>
#include <sys/socket.h>

#include "tests/transport/shm/inside.hpp"
#include "transport/shm/hints.hpp"

namespace {

// What happens to this process when it notifies a peer.
enum class Ring { plain, dies_before, stops_after } ring = Ring::plain;

}  // namespace

// Called in place of the C library's function, whose six parameters it has.
extern "C" ssize_t sendto(int fd, const void* data, std::size_t bytes, int flags, const sockaddr* to,
                          socklen_t to_bytes) {
  static const auto real = reinterpret_cast<decltype(&sendto)>(::dlsym(RTLD_NEXT, "sendto"));
  if (ring == Ring::dies_before) ::raise(SIGKILL);
  const ssize_t sent = real(fd, data, bytes, flags, to, to_bytes);
  if (ring == Ring::stops_after) ::raise(SIGSTOP);
  return sent;
}

namespace stria::shm::test {
namespace {

TEST(ShmTelling, half_a_hint_of_a_dead_sender_does_not_hide_the_records_of_the_windows_next_one) {
  const Settings one = {{"STRIA_SHM_WINDOWS", "1"}};
  Visitor victim(
      2,
      [](const Visit& visit) {
        visit.hub.header().hints.windows[0].fetch_or(1);  // leave(0), up to its second store
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

/// A process that sends to the hub, and what becomes of it when it notifies.
Visitor ringer(Ring how) {
  return Visitor(2, [how](const Visit& visit) {
    ring = how;
    return visit.node.pio(visit.link, header(1), pattern(1, 8)) == Status::ok;
  });
}

class ShmWaking : public ::testing::Test {
 protected:
  void meet(Visitor& visitor) {
    visitor.connect_to(hub());
    link_ = sender_->connect(hub());
    ASSERT_NE(link_, nullptr) << sender_->error;
    ASSERT_TRUE(until([&] { return hub().ups.size() == 2; }, [&] { hub().progress(); }));
  }
  Node& hub() {
    if (!hub_) hub_ = std::make_unique<Node>(1), sender_ = std::make_unique<Node>(3);
    return *hub_;
  }
  void arm() {
    ASSERT_TRUE(
        until([&] { return Node::table().arm(hub().device()) == STRIA_OK; }, [&] { hub().progress(); }));
  }
  /// Whether the hub is woken.
  bool sleep() {
    pollfd wakeup{Node::table().event_fd(hub().device()), POLLIN, 0};
    return ::poll(&wakeup, 1, 2000) == 1;
  }
  Status send() { return sender_->pio(link_, header(2), pattern(2, 8)); }

 private:
  std::unique_ptr<Node> hub_, sender_;  // made after the visitor
  stria_link_t* link_ = nullptr;
};

TEST_F(ShmWaking, is_done_by_a_living_sender_although_one_died_when_it_was_about_to) {
  Visitor visitor = ringer(Ring::dies_before);
  meet(visitor);
  arm();
  visitor.send(kWord);
  EXPECT_EQ(visitor.wait(), 128 + SIGKILL);
  ASSERT_EQ(send(), Status::ok);
  EXPECT_TRUE(sleep());
}

TEST_F(ShmWaking, of_one_sleep_by_a_sender_that_stops_in_the_middle_does_not_end_the_next_sleep) {
  Visitor visitor = ringer(Ring::stops_after);
  meet(visitor);
  arm();
  visitor.send(kWord);
  EXPECT_TRUE(sleep());
  int status = 0;
  ASSERT_EQ(::waitpid(visitor.pid(), &status, WUNTRACED), visitor.pid());
  ASSERT_TRUE(WIFSTOPPED(status));
  arm();
  ::kill(visitor.pid(), SIGCONT);
  ASSERT_FALSE(visitor.receive().empty());
  ASSERT_EQ(send(), Status::ok);
  EXPECT_TRUE(sleep()) << "the sender did not see that the hub sleeps";
}

}  // namespace
}  // namespace stria::shm::test
