// A peer that is gone before this worker has a link to it: whatever names it ends with PEER_FAILED within the
// liveness limit, whether the peer sent something first, died, or closed its worker in good order. Over shm,
// or over the provider that STRIA_TEST_PROVIDER names.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/tag/process_side.hpp"

namespace stria::test {
namespace {

using Clock = std::chrono::steady_clock;

// Twenty times the liveness limit (STRIA_LIVENESS_MS), for busy machines: what ends by another limit ends
// later.
constexpr auto kDeadline = std::chrono::seconds(10);

/// What the peer does before it goes.
enum class Last { nothing, sends_short, sends_long, closes };

struct Case {
  const char* name;
  Last last;
};

class LostPeer : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    ASSERT_EQ(::pipe(down_.data()), 0);
    ASSERT_EQ(::pipe(up_.data()), 0);
    child_ = ::fork();
    if (child_ == 0) run_peer();
    side_ = std::make_unique<ProcessSide>(down_[1], up_[0], provider_under_test());
    std::uint64_t key_bytes = 0;
    ASSERT_EQ(::read(up_[0], &key_bytes, sizeof key_bytes), ssize_t{sizeof key_bytes});
    key_.resize(key_bytes);
    ASSERT_EQ(::read(up_[0], key_.data(), key_bytes), static_cast<ssize_t>(key_bytes));
    char gone = 0;
    ASSERT_EQ(::read(up_[0], &gone, 1), 1);
    if (GetParam().last != Last::closes) end_peer();
  }
  void TearDown() override {
    side_.reset();
    if (child_ > 0) end_peer();
    for (const int fd : {down_[0], down_[1], up_[0], up_[1]}) ::close(fd);
  }

  /// Runs `test` again and again until it is no more in progress.
  template <class F>
  stria_status_t outcome(F&& test) {
    const auto end = Clock::now() + kDeadline;
    stria_status_t status = STRIA_IN_PROGRESS;
    while ((status = test()) == STRIA_IN_PROGRESS && Clock::now() < end) stria_worker_wait(worker(), 100);
    return status;
  }
  stria_status_t outcome_of(const stria_request_t& request) {
    return outcome([&] { return stria_request_test(&request, nullptr); });
  }
  /// Of what a call answered `started` for.
  stria_status_t outcome_of(stria_status_t started, const stria_request_t& request) {
    return started == STRIA_IN_PROGRESS ? outcome_of(request) : started;
  }
  /// The same of an operation that would need the peer: over shm the call knows that it is gone, over a
  /// network the peer must be asked first.
  stria_status_t refusal_of(stria_status_t started, const stria_request_t& request) {
    EXPECT_TRUE(started != STRIA_IN_PROGRESS || std::string(provider_under_test()) != "shm");
    return outcome_of(started, request);
  }
  stria_status_t start_recv(stria_request_t& request, stria_endpoint_t* source) {
    const stria_recv_t args{&word_, nullptr, sizeof word_, {source, 77, 0}, nullptr, nullptr, 0, nullptr};
    return stria_recv(worker(), &args, &request);
  }
  stria_worker_t* worker() { return side_->worker; }
  stria_endpoint_t* peer() { return side_->peer; }

  std::unique_ptr<ProcessSide> side_;
  std::vector<char> key_;
  long word_ = 0;

 private:
  [[noreturn]] void run_peer() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto* side = new ProcessSide(up_[1], down_[0], provider_under_test());
    static std::array<char, 200000> data{};
    stria_region_t* region = nullptr;
    std::array<char, STRIA_KEY_MAX> key{};
    std::size_t bytes = key.size();
    const unsigned access = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE | STRIA_ACCESS_REMOTE_ATOMIC;
    bool good = stria_region_register(side->worker, data.data(), nullptr, 64, access, &region) == STRIA_OK &&
                stria_region_key(region, key.data(), &bytes) == STRIA_OK;
    const std::uint64_t length = bytes;
    good = good && ::write(up_[1], &length, sizeof length) == ssize_t{sizeof length} &&
           ::write(up_[1], key.data(), bytes) == static_cast<ssize_t>(bytes);
    static stria_request_t request;
    const std::uint64_t sent = GetParam().last == Last::sends_short ? 8 : data.size();
    const stria_send_t send{data.data(), nullptr, sent, 1, 0, 0, nullptr, nullptr};
    if (GetParam().last == Last::sends_short || GetParam().last == Last::sends_long)
      good = good && stria_send(side->peer, &send, &request) >= STRIA_OK;
    if (GetParam().last == Last::closes) delete side;
    good = good && ::write(up_[1], "g", 1) == 1;
    if (GetParam().last == Last::closes) ::pause();
    ::_exit(good ? 0 : 1);
  }
  void end_peer() {
    if (GetParam().last == Last::closes) ::kill(child_, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child_, &status, 0), child_);
    child_ = -1;
  }
  std::array<int, 2> down_{}, up_{};
  pid_t child_ = -1;
};

TEST_P(LostPeer, ends_a_receive_that_names_it) {
  stria_request_t request;
  EXPECT_EQ(outcome_of(start_recv(request, peer()), request), STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(start_recv(request, peer()), STRIA_ERR_PEER_FAILED) << "from then on it is known";
}

TEST_P(LostPeer, ends_a_receive_while_its_worker_sleeps_without_a_limit) {
  stria_request_t request;
  if (start_recv(request, peer()) == STRIA_IN_PROGRESS) {
    stria_info_t info{};
    while (stria_request_test(&request, &info) == STRIA_IN_PROGRESS) stria_worker_wait(worker(), -1);
    EXPECT_EQ(info.status, STRIA_ERR_PEER_FAILED);
  }
}

TEST_P(LostPeer, leaves_receives_of_any_source) {
  stria_request_t named, any;
  ASSERT_EQ(start_recv(any, nullptr), STRIA_IN_PROGRESS);
  EXPECT_EQ(outcome_of(start_recv(named, peer()), named), STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(stria_request_test(&any, nullptr), STRIA_IN_PROGRESS);
  EXPECT_EQ(stria_request_cancel(worker(), &any), STRIA_OK);
}

TEST_P(LostPeer, ends_probes_that_name_it) {
  const stria_match_t match{peer(), 77, 0};
  stria_message_t* message = nullptr;
  EXPECT_EQ(outcome([&] { return stria_probe(worker(), &match, nullptr); }), STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(outcome([&] { return stria_mprobe(worker(), &match, &message, nullptr); }),
            STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(message, nullptr);
}

TEST_P(LostPeer, refuses_what_is_sent_to_it_put_there_or_asked_of_it) {
  stria_request_t request;
  stria_key_t* key = nullptr;
  ASSERT_EQ(stria_key_open(peer(), key_.data(), key_.size(), &key), STRIA_OK) << stria_last_error();
  const stria_send_t send{&word_, nullptr, sizeof word_, 1, 0, 0, nullptr, nullptr};
  EXPECT_EQ(refusal_of(stria_send(peer(), &send, &request), request), STRIA_ERR_PEER_FAILED);
  const stria_rma_t rma{&word_, nullptr, sizeof word_, key, 0, nullptr, nullptr};
  EXPECT_EQ(refusal_of(stria_put(peer(), &rma, &request), request), STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(refusal_of(stria_get(peer(), &rma, &request), request), STRIA_ERR_PEER_FAILED);
  std::uint64_t before = 0;
  stria_atomic_t atomic{};
  atomic.size = sizeof atomic;
  atomic.op = STRIA_ATOMIC_FETCH_ADD;
  atomic.key = key;
  atomic.result = &before;
  EXPECT_EQ(refusal_of(stria_atomic(peer(), &atomic, &request), request), STRIA_ERR_PEER_FAILED);
  stria_key_close(key);
}

TEST_P(LostPeer, is_said_to_be_gone_by_connecting_to_it) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(outcome([&] { return stria_endpoint_connect(peer()); }), STRIA_ERR_PEER_FAILED);
    const std::string text = stria_last_error();
    EXPECT_NE(text.find("is gone"), std::string::npos) << text;
    const std::string provider = std::string(provider_under_test()) + ": ";
    EXPECT_EQ(text.find(provider), text.rfind(provider)) << "the provider is named once: " << text;
  }
}

INSTANTIATE_TEST_SUITE_P(, LostPeer,
                         ::testing::Values(Case{"dies", Last::nothing},
                                           Case{"sends_a_short_message_and_dies", Last::sends_short},
                                           Case{"sends_a_long_message_and_dies", Last::sends_long},
                                           Case{"closes", Last::closes}),
                         [](const auto& about) { return std::string(about.param.name); });

}  // namespace
}  // namespace stria::test
