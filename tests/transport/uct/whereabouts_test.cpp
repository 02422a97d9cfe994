// The unix socket of a device (its door), and the peers of the same host that watch it.
#include "transport/uct/whereabouts.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace stria::uct {
namespace {

TEST(UctWatch, a_device_is_seen_until_it_closes_by_those_who_watched_and_those_who_come_late) {
  const Whereabouts here = own_whereabouts();
  const std::uint64_t instance = random_word();
  auto door = Door::open(instance);
  ASSERT_TRUE(door.has_value()) << door.error().context;
  Watch one = Watch::of(here, instance), other = Watch::of(here, instance);
  EXPECT_TRUE(one.sees());
  EXPECT_FALSE(one.is_gone());
  EXPECT_FALSE(other.is_gone());
  door->close();
  EXPECT_TRUE(one.is_gone());
  EXPECT_TRUE(other.is_gone());
  EXPECT_TRUE(Watch::of(here, instance).is_gone());
}

TEST(UctWatch, another_instance_in_the_same_process_is_another_device) {
  auto door = Door::open(random_word());
  ASSERT_TRUE(door.has_value());
  EXPECT_TRUE(Watch::of(own_whereabouts(), random_word()).is_gone());
}

TEST(UctWatch, a_connection_that_is_kept_tells_of_the_other_end_and_is_no_sight_of_the_process) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  UniqueFd other(ends[1]);
  Watch watch;
  watch.keep(UniqueFd(ends[0]));
  EXPECT_FALSE(watch.sees());
  EXPECT_FALSE(watch.is_gone());
  other.reset();
  EXPECT_TRUE(watch.is_gone());
}

TEST(UctWatch, a_child_that_holds_the_socket_hides_neither_the_closing_nor_the_death) {
  const Whereabouts here = own_whereabouts();
  const std::uint64_t instance = random_word();
  auto door = Door::open(instance);
  ASSERT_TRUE(door.has_value());
  Watch watch = Watch::of(here, instance);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  EXPECT_FALSE(watch.is_gone());
  door->close();
  EXPECT_TRUE(watch.is_gone());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(UctWatch, a_process_that_is_killed_is_gone_although_its_child_has_its_socket) {
  std::array<int, 2> up{};
  ASSERT_EQ(::pipe(up.data()), 0);
  const std::uint64_t instance = random_word();
  struct News {
    Whereabouts where;
    pid_t grandchild;
  } news{};
  const pid_t child = ::fork();
  if (child == 0) {
    auto door = Door::open(instance);
    if (!door) ::_exit(1);
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      ::pause();
      ::_exit(0);
    }
    news = {own_whereabouts(), grandchild};
    if (::write(up[1], &news, sizeof news) != static_cast<ssize_t>(sizeof news)) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  ASSERT_EQ(::read(up[0], &news, sizeof news), static_cast<ssize_t>(sizeof news));
  Watch watch = Watch::of(news.where, instance);
  EXPECT_FALSE(watch.is_gone());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(watch.is_gone());
  ::kill(news.grandchild, SIGKILL);
  ::close(up[0]);
  ::close(up[1]);
}

TEST(UctWatch, a_pid_that_was_given_to_a_later_process_is_not_taken_for_the_peer) {
  Whereabouts earlier = own_whereabouts();
  ASSERT_NE(earlier.started, 0u);
  --earlier.started;
  const std::uint64_t instance = random_word();
  auto door = Door::open(instance);
  EXPECT_TRUE(Watch::of(earlier, instance).is_gone());
}

TEST(UctWatch, other_systems_and_namespaces_cannot_be_watched) {
  const Whereabouts here = own_whereabouts();
  EXPECT_TRUE(can_watch(here, here));
  Whereabouts there = here;
  there.host ^= 1;
  EXPECT_FALSE(can_watch(here, there));
  there = here;
  there.pid_space ^= 1;
  EXPECT_FALSE(can_watch(here, there));
  there = here;
  there.net_space ^= 1;
  EXPECT_FALSE(can_watch(here, there));
  EXPECT_FALSE(can_watch(Whereabouts{}, Whereabouts{})) << "nothing is known of either";
}

}  // namespace
}  // namespace stria::uct
