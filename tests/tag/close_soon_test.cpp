// Closing a worker whose messages both ends have completed waits for nothing, whatever the peer does then: it
// may compute for long and never come back to its own worker. Between two processes, over shm or over the
// provider that STRIA_TEST_PROVIDER names.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tests/tag/process_side.hpp"

namespace stria::test {
namespace {

using Clock = std::chrono::steady_clock;

// The limit of a close that waits; and what one that does not wait stays far below on any machine.
constexpr const char* kTimeoutMs = "100000";
constexpr auto kSoon = std::chrono::seconds(30);

class CloseSoon : public ::testing::TestWithParam<std::tuple<const char*, const char*, std::size_t>> {
 protected:
  void SetUp() override {
    set("STRIA_CLOSE_TIMEOUT_MS", kTimeoutMs);
    set("STRIA_RNDV_SCHEME", std::get<0>(GetParam()));
    set("STRIA_SHM_DISTANCE", std::get<1>(GetParam()));
    ASSERT_EQ(::pipe(down_.data()), 0);
    ASSERT_EQ(::pipe(up_.data()), 0);
  }
  void TearDown() override {
    for (const int fd : {down_[0], down_[1], up_[0], up_[1]}) ::close(fd);
    set("STRIA_CLOSE_TIMEOUT_MS", "5000");
    set("STRIA_RNDV_SCHEME", "auto");
    set("STRIA_SHM_DISTANCE", "auto");
  }
  static void set(const char* name, const char* value) {
    ASSERT_EQ(stria_config_set(name, value, "test"), STRIA_OK) << stria_last_error();
  }
  std::size_t bytes() const { return std::get<2>(GetParam()); }
  static std::vector<char> pattern(std::size_t bytes) {
    std::vector<char> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 7 + 3);
    return data;
  }
  static bool send_all(ProcessSide& side, unsigned messages, std::size_t bytes) {
    const std::vector<char> data = pattern(bytes);
    for (unsigned i = 0; i < messages; ++i) {
      stria_request_t request;
      const stria_send_t args{data.data(), nullptr, bytes, 1, 0, 0, nullptr, nullptr};
      stria_status_t status = stria_send(side.peer, &args, &request);
      if (status == STRIA_IN_PROGRESS) status = stria_request_wait(side.worker, &request, nullptr);
      if (status != STRIA_OK) return false;
    }
    return true;
  }
  static bool receive_all(ProcessSide& side, unsigned messages, std::size_t bytes) {
    const std::vector<char> expected = pattern(bytes);
    for (unsigned i = 0; i < messages; ++i) {
      std::vector<char> data(bytes);
      stria_request_t request;
      stria_info_t info{};
      const stria_recv_t args{data.data(), nullptr, bytes, {side.peer, 1, 0}, nullptr, nullptr, 0, nullptr};
      if (stria_recv(side.worker, &args, &request) < STRIA_OK) return false;
      if (stria_request_wait(side.worker, &request, &info) != STRIA_OK) return false;
      if (info.received != bytes || data != expected) return false;
    }
    return true;
  }
  static void say(int fd) { EXPECT_EQ(::write(fd, "x", 1), 1); }
  static void hear(int fd) {
    char word = 0;
    EXPECT_EQ(::read(fd, &word, 1), 1);
  }

  /// `theirs` in another process, which then stands still until this side is closed; `ours` here.
  template <class Theirs, class Ours>
  void close_beside(Theirs&& theirs, Ours&& ours) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      bool good = false;
      {
        ProcessSide side(up_[1], down_[0], provider_under_test());
        good = theirs(side);
        say(up_[1]);
        hear(down_[0]);
      }
      ::_exit(good && !::testing::Test::HasFailure() ? 0 : 1);
    }
    auto side = std::make_unique<ProcessSide>(down_[1], up_[0], provider_under_test());
    EXPECT_TRUE(ours(*side));
    hear(up_[0]);
    const auto begin = Clock::now();
    side.reset();
    EXPECT_LT(Clock::now() - begin, kSoon);
    say(down_[1]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }

 private:
  std::array<int, 2> down_{}, up_{};
};

constexpr unsigned kMany = 40;

TEST_P(CloseSoon, of_the_sender) {
  close_beside([&](ProcessSide& side) { return receive_all(side, kMany, bytes()); },
               [&](ProcessSide& side) { return send_all(side, kMany, bytes()); });
}

// It owes the sender credit.
TEST_P(CloseSoon, of_the_receiver) {
  close_beside([&](ProcessSide& side) { return send_all(side, kMany, bytes()); },
               [&](ProcessSide& side) { return receive_all(side, kMany, bytes()); });
}

std::string name_of(const ::testing::TestParamInfo<CloseSoon::ParamType>& about) {
  const auto& [scheme, distance, bytes] = about.param;
  return std::string(scheme) + "_" + distance + "_" + std::to_string(bytes);
}

INSTANTIATE_TEST_SUITE_P(, CloseSoon,
                         ::testing::Combine(::testing::Values("auto", "get", "both", "pipeline"),
                                            ::testing::Values("near", "far"),
                                            ::testing::Values(8u, 20000u, 200000u, 3000000u)),
                         name_of);

class CloseSoonAlone : public CloseSoon {};

TEST_P(CloseSoonAlone, after_a_connection_by_which_nothing_went) {
  close_beside([](ProcessSide&) { return true; },
               [](ProcessSide& side) { return stria_endpoint_connect(side.peer) >= STRIA_OK; });
}

// A receive makes its worker connect after a while, to see whether the peer lives.
TEST_P(CloseSoonAlone, after_a_receive_that_nothing_came_for) {
  close_beside([](ProcessSide&) { return true; },
               [&](ProcessSide& side) {
                 stria_endpoint_state_t state{};
                 state.size = sizeof state;
                 stria_request_t request;
                 char byte = 0;
                 const stria_recv_t args{&byte, nullptr, 1, {side.peer, 1, 0}, nullptr, nullptr, 0, nullptr};
                 bool good = stria_recv(side.worker, &args, &request) == STRIA_IN_PROGRESS;
                 const auto end = Clock::now() + kSoon;
                 while (state.connected == 0 && Clock::now() < end) {
                   stria_worker_wait(side.worker, 50);
                   good = good && stria_endpoint_info(side.peer, &state) == STRIA_OK;
                 }
                 return good && state.connected != 0 &&
                        stria_request_cancel(side.worker, &request) == STRIA_OK;
               });
}

INSTANTIATE_TEST_SUITE_P(, CloseSoonAlone,
                         ::testing::Combine(::testing::Values("auto"), ::testing::Values("auto"),
                                            ::testing::Values(0u)),
                         name_of);

}  // namespace
}  // namespace stria::test
