// A peer dies while this side sleeps in an event loop of its own, as docs/user-library.md shows it.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <chrono>

#include "tests/tag/process_side.hpp"

namespace stria::test {
namespace {

using Clock = std::chrono::steady_clock;

/// Greets, and dies some time after the other side said by a byte that it begins to sleep.
[[noreturn]] void greet_and_die(int out, int in) {
  ::alarm(120);  // whatever happens
  ProcessSide side(out, in);
  const long greeting = 1;
  const stria_send_t hello{&greeting, nullptr, sizeof greeting, 1, 0, 0, nullptr, nullptr};
  stria_request_t request;
  if (stria_send(side.peer, &hello, &request) == STRIA_IN_PROGRESS)
    stria_request_wait(side.worker, &request, nullptr);
  char word = 0;
  while (::read(in, &word, 1) < 0) continue;
  ::usleep(700000);
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

TEST(EventLoop, a_receive_of_a_peer_that_died_ends_although_the_loop_would_sleep_for_ever) {
  std::array<int, 2> down{}, up{};
  ASSERT_EQ(::pipe(down.data()), 0);
  ASSERT_EQ(::pipe(up.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) greet_and_die(up[1], down[0]);
  ProcessSide side(down[1], up[0]);
  long got = 0;
  stria_recv_t args{};
  args.base = &got;
  args.count = sizeof got;
  args.match = {side.peer, 1, 0};
  stria_request_t request;
  if (stria_recv(side.worker, &args, &request) == STRIA_IN_PROGRESS)
    stria_request_wait(side.worker, &request, nullptr);
  args.match.tag = 2;
  ASSERT_EQ(stria_recv(side.worker, &args, &request), STRIA_IN_PROGRESS);
  int fd = -1;
  ASSERT_EQ(stria_worker_event_fd(side.worker, &fd), STRIA_OK);

  constexpr int kForEver = 60000;
  ASSERT_EQ(::write(down[1], "d", 1), 1);
  stria_info_t info{};
  const auto begin = Clock::now();
  while (stria_request_test(&request, &info) == STRIA_IN_PROGRESS &&
         Clock::now() - begin < std::chrono::seconds(60)) {
    while (stria_worker_arm(side.worker) != STRIA_OK) stria_worker_progress(side.worker);
    if (stria_request_test(&request, &info) != STRIA_IN_PROGRESS) break;
    pollfd entry{fd, POLLIN, 0};
    EXPECT_EQ(::poll(&entry, 1, kForEver), 1) << "nothing woke it";
    stria_worker_progress(side.worker);
  }
  EXPECT_EQ(info.status, STRIA_ERR_PEER_FAILED);
  ::waitpid(child, nullptr, 0);
  for (const int one : {down[0], down[1], up[0], up[1]}) ::close(one);
  // Without its end the request would be lost with this frame.
  while (stria_request_test(&request, nullptr) == STRIA_IN_PROGRESS) stria_worker_progress(side.worker);
}

}  // namespace
}  // namespace stria::test
