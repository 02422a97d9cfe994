// A peer process that is killed with -9, at the API over real shm: every request that names it ends with an
// error, whatever it was doing, and nothing of it stays behind.
#include <dirent.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "stria/stria.h"
#include "tests/named_memory.hpp"
#include "tests/tag/process_side.hpp"

namespace stria::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLong = 128u << 20;  // 5 ms under way, so that the kill comes in the middle
constexpr auto kDeadline = std::chrono::seconds(30);

/// And what it has under way.
class Side : public ProcessSide {
 public:
  Side(int out, int in) : ProcessSide(out, in), out_(out), in_(in) {}

  void send(const void* data, std::size_t bytes, std::uint64_t tag, std::uint32_t flags = 0) {
    const stria_send_t args{data, nullptr, bytes, tag, 0, flags, nullptr, nullptr};
    keep(stria_send(peer, &args, &requests.emplace_back()));
  }
  void recv(void* data, std::size_t bytes, std::uint64_t tag, bool any = false) {
    const stria_recv_t args{data,    nullptr, bytes, {any ? nullptr : peer, tag, 0},
                            nullptr, nullptr, 0,     nullptr};
    keep(stria_recv(worker, &args, &requests.emplace_back()));
  }
  void wait_all() {
    for (auto& request : requests) EXPECT_EQ(stria_request_wait(worker, &request, nullptr), STRIA_OK);
    requests.clear();
  }
  /// The two know each other, and each has had a message of the other one.
  void greet() {
    long here = 1, there = 0;
    send(&here, sizeof here, 1);
    recv(&there, sizeof there, 1);
    wait_all();
    EXPECT_EQ(there, 1);
  }
  void say_ready() { EXPECT_EQ(::write(out_, "r", 1), 1); }
  void progress_until_ready() {
    pollfd one{in_, POLLIN, 0};
    while (::poll(&one, 1, 0) == 0) stria_worker_progress(worker);
    char word = 0;
    EXPECT_EQ(::read(in_, &word, 1), 1);
  }

  std::deque<stria_request_t> requests;  // those that are active; they do not move

 private:
  void keep(stria_status_t started) {
    EXPECT_GE(started, STRIA_OK) << stria_last_error();
    if (started != STRIA_IN_PROGRESS) requests.pop_back();
  }
  int out_, in_;
};

std::size_t segments_here() {
  std::size_t n = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(folder)) {
    std::array<char, 256> target{};
    const std::string path = std::string("/proc/self/fd/") + entry->d_name;
    if (::readlink(path.c_str(), target.data(), target.size() - 1) > 0)
      n += std::string_view(target.data()).starts_with("/memfd:stria") ? 1 : 0;
  }
  ::closedir(folder);
  return n;
}

using Act = std::function<void(Side&)>;
constexpr int kNoLimit = -1;

/// Another process does `victim` once, says that it is ready, and then does `afterwards` again and again;
/// `start` starts here what names that process. Then it is killed, and all that was started has to end.
/// Between tests of what ended, `sleep`: this side sleeps without a time limit.
void kill_peer(const Act& victim, const Act& afterwards, const Act& start, bool sleep = false) {
  std::array<int, 2> down{}, up{};
  ASSERT_EQ(::pipe(down.data()), 0);
  ASSERT_EQ(::pipe(up.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Side side(up[1], down[0]);
    side.greet();
    victim(side);
    side.say_ready();
    for (;;) afterwards(side);
  }
  {
    Side side(down[1], up[0]);
    side.greet();
    EXPECT_EQ(named_memory(child), std::vector<std::string>()) << "it stays when the process is killed";
    side.progress_until_ready();
    start(side);
    long never = 0, whoever = 0;
    side.recv(&never, sizeof never, 999);
    stria_request_t any;
    const stria_recv_t args{&whoever, nullptr, sizeof whoever, {nullptr, 998, 0}, nullptr,
                            nullptr,  0,       nullptr};
    EXPECT_EQ(stria_recv(side.worker, &args, &any), STRIA_IN_PROGRESS);
    ASSERT_FALSE(side.requests.empty());
    for (auto& request : side.requests)
      ASSERT_EQ(stria_request_test(&request, nullptr), STRIA_IN_PROGRESS) << "too early to tell anything";
    const auto begin = Clock::now();
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    for (auto& request : side.requests) {
      stria_info_t info{};
      while (stria_request_test(&request, &info) == STRIA_IN_PROGRESS) {
        if (sleep)
          stria_worker_wait(side.worker, kNoLimit);
        else
          stria_worker_progress(side.worker);
        ASSERT_LT(Clock::now() - begin, kDeadline);
      }
      EXPECT_EQ(info.status, STRIA_ERR_PEER_FAILED);
    }
    EXPECT_LT(Clock::now() - begin, kDeadline);
    EXPECT_EQ(stria_request_test(&any, nullptr), STRIA_IN_PROGRESS) << "others could match it";
    EXPECT_EQ(stria_request_cancel(side.worker, &any), STRIA_OK);
    stria_request_t late;
    const stria_send_t again{&never, nullptr, sizeof never, 1, 0, 0, nullptr, nullptr};
    EXPECT_EQ(stria_send(side.peer, &again, &late), STRIA_ERR_PEER_FAILED);
  }
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  for (const int fd : {down[0], down[1], up[0], up[1]}) ::close(fd);
}

void nothing(Side&) {}
void rest(Side&) {
  ::pause();
}
void run(Side& side) {
  stria_worker_progress(side.worker);
}

void progress_until(Side& side, const std::function<bool()>& begun) {
  for (const auto end = Clock::now() + kDeadline; !begun() && Clock::now() < end;)
    stria_worker_progress(side.worker);
  EXPECT_TRUE(begun()) << "nothing moves";
}

class ProcessFailure : public ::testing::Test {
 protected:
  void SetUp() override {
    ::alarm(120);  // a sleep without end must not hold up the tests
    segments_ = segments_here();
  }
  void TearDown() override {
    ::alarm(0);
    EXPECT_EQ(segments_here(), segments_);
  }
  std::vector<char> data_ = std::vector<char>(kLong, 3), room_ = std::vector<char>(kLong);

 private:
  std::size_t segments_ = 0;
};

TEST_F(ProcessFailure, of_an_idle_peer_ends_receives_from_it) {
  kill_peer(nothing, rest, nothing);
}

TEST_F(ProcessFailure, of_an_idle_peer_wakes_the_one_that_sleeps_in_wait) {
  kill_peer(nothing, rest, nothing, true);
}

// The peer does not look: windows and cells fill, the rest waits here or is announced.
TEST_F(ProcessFailure, during_eager_ends_the_sends_that_wait) {
  kill_peer(nothing, rest, [this](Side& side) {
    for (std::uint64_t i = 0; i < 300; ++i) side.send(data_.data(), 20000, 100 + i);
    EXPECT_GT(side.requests.size(), 10u);
  });
}

TEST_F(ProcessFailure, during_rendezvous_ends_the_receive_of_a_sender_that_streams) {
  kill_peer([this](Side& side) { side.send(data_.data(), kLong, 2); }, run,
            [this](Side& side) {
              side.recv(room_.data(), kLong, 2);
              progress_until(side, [this] { return room_.front() != 0 || room_.back() != 0; });
            });
}

TEST_F(ProcessFailure, during_rendezvous_ends_the_receive_of_a_sender_that_is_silent) {
  kill_peer([this](Side& side) { side.send(data_.data(), kLong, 2); }, rest,
            [this](Side& side) {
              side.recv(room_.data(), kLong, 2);
              // Where cross-memory attach is refused, nothing moves without the sender.
              progress_until(side, [this, looks = 0]() mutable {
                return room_.front() != 0 || room_.back() != 0 || ++looks > 10000;
              });
            });
}

// The peer takes the first bytes, says so, and takes no more: the send is under way however late the kill
// comes.
TEST_F(ProcessFailure, during_rendezvous_ends_the_send) {
  const auto take_the_first_bytes = [this, said = false](Side& side) mutable {
    if (said) return rest(side);
    progress_until(side, [this] { return room_.front() != 0 || room_.back() != 0; });
    side.say_ready();
    said = true;
  };
  kill_peer([this](Side& side) { side.recv(room_.data(), kLong, 3); }, take_the_first_bytes,
            [this](Side& side) {
              side.send(data_.data(), kLong, 3);
              side.progress_until_ready();
            });
}

TEST_F(ProcessFailure, ends_synchronous_sends_that_nobody_matched) {
  kill_peer(nothing, run, [this](Side& side) {
    side.send(data_.data(), 8, 77, STRIA_SEND_SYNCHRONOUS);
    side.send(data_.data(), 1 << 20, 78, STRIA_SEND_SYNCHRONOUS);
  });
}

}  // namespace
}  // namespace stria::test
