// A sender that stands still in the middle of a message stops its own receive and nothing else: what another
// peer sends arrives meanwhile, and every call of the receiver returns. The sender stops itself when it comes
// to a page that it may not read, so it always stands in the same place. When it goes on, its message is
// whole; when it is killed, its receive ends with PEER_FAILED.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/tag/process_side.hpp"

namespace stria::test {
namespace {

using Clock = std::chrono::steady_clock;

/// How the receiver comes to the message.
enum class Way {
  posted,       ///< its receive was there before
  any_source,   ///< likewise, of a receive that any peer may match
  looks,        ///< the receive looks for it
  synchronous,  ///< posted, and the sender waits for the match
  kept,         ///< it came before its receive, and stays where it arrived
  copied,       ///< likewise, and may not stay there
  fragment      ///< it is a fragment of a long message
};

constexpr std::uint64_t kTag = 7, kOtherTag = 8, kFillTag = 9;
constexpr std::size_t kFillBytes = 5000, kFills = 4;
constexpr int kOthers = 50;
constexpr std::size_t kOtherBytes = 6000;

constexpr std::size_t bytes_of(Way way) {
  return way == Way::fragment ? 1u << 20 : 32768;
}
/// Before the page where the sender stops.
constexpr std::size_t readable_of(Way way) {
  return way == Way::fragment ? 8192 + (512u << 10) : 8192;
}
std::byte pattern(std::size_t i) {
  return static_cast<std::byte>(i * 31 + i / 256 + 1);
}

// Of the sender's process.
std::byte* pages = nullptr;
std::size_t page_bytes = 0;

void at_the_page(int /*signal*/) {
  ::kill(::getpid(), SIGSTOP);
  ::mprotect(pages, page_bytes, PROT_READ | PROT_WRITE);
}

void send(const ProcessSide& side, const void* data, std::size_t bytes, std::uint64_t tag,
          std::uint32_t flags = 0) {
  stria_send_t args{};
  args.base = data;
  args.count = bytes;
  args.tag = tag;
  args.flags = flags;
  stria_request_t request;
  if (stria_send(side.peer, &args, &request) == STRIA_IN_PROGRESS)
    stria_request_wait(side.worker, &request, nullptr);
}

void send_and_stop(const ProcessSide& side, Way way) {
  page_bytes = bytes_of(way);
  void* const made = ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pages = static_cast<std::byte*>(made);
  for (std::size_t i = 0; i < page_bytes; ++i) pages[i] = pattern(i);
  if (way == Way::copied) {
    const std::vector<std::byte> fill(kFillBytes);
    for (std::size_t i = 0; i < kFills; ++i) send(side, fill.data(), fill.size(), kFillTag);
    stria_worker_progress(side.worker);  // or the next would be one of a row, which shm publishes whole
  }
  struct sigaction action {};
  action.sa_handler = at_the_page;
  ::sigaction(SIGSEGV, &action, nullptr);
  ::mprotect(pages + readable_of(way), page_bytes - readable_of(way), PROT_NONE);
  send(side, pages, page_bytes, kTag,
       way == Way::synchronous ? std::uint32_t{STRIA_SEND_SYNCHRONOUS} : std::uint32_t{0});
}

void send_many(const ProcessSide& side) {
  std::vector<std::byte> data(kOtherBytes);
  for (int i = 0; i < kOthers; ++i) {
    data.assign(kOtherBytes, static_cast<std::byte>(i));
    send(side, data.data(), data.size(), kOtherTag);
  }
}

/// A process that sends when it is told to, and ends with this one.
class Sender {
 public:
  template <class F>
  explicit Sender(F&& act) {
    EXPECT_EQ(::pipe(down_.data()), 0);
    EXPECT_EQ(::pipe(up_.data()), 0);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const ProcessSide side(up_[1], down_[0]);
    long greeting = 1;
    send(side, &greeting, sizeof greeting, 1);
    char word = 0;
    while (::read(down_[0], &word, 1) != 1) continue;
    act(side);
    while (true) {  // until it is killed
      stria_worker_progress(side.worker);
      ::usleep(100);
    }
  }
  ~Sender() {
    for (const int fd : {down_[0], down_[1], up_[0], up_[1]}) ::close(fd);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  int out() const { return down_[1]; }
  int in() const { return up_[0]; }
  pid_t pid() const { return pid_; }
  void go() const { EXPECT_EQ(::write(down_[1], "g", 1), 1); }

 private:
  std::array<int, 2> down_{}, up_{};
  pid_t pid_ = 0;
};

/// Lets a stopped process go on if the test still stands after some seconds: then a call of the receiver
/// waited for it, and the test fails instead of hanging.
class Rescue {
 public:
  explicit Rescue(pid_t pid)
      : thread_([this, pid] {
          for (int i = 0; i < 1000 && !over_.load(); ++i) ::usleep(10000);
          if (over_.load()) return;
          came_.store(true);
          ::kill(pid, SIGCONT);
        }) {}
  ~Rescue() {
    over_.store(true);
    thread_.join();
  }
  Rescue(const Rescue&) = delete;
  Rescue& operator=(const Rescue&) = delete;
  bool came() const { return came_.load(); }

 private:
  std::atomic<bool> over_{false}, came_{false};
  std::thread thread_;
};

struct Receive {
  stria_request_t request;
  stria_info_t info{};
  stria_status_t status = STRIA_IN_PROGRESS;

  bool ended() {
    if (status == STRIA_IN_PROGRESS) status = stria_request_test(&request, &info);
    return status != STRIA_IN_PROGRESS;
  }
};

class StoppedSender : public testing::TestWithParam<Way> {
 protected:
  StoppedSender() {
    set("STRIA_SHM_DISTANCE", "near");
    set("STRIA_RNDV_SCHEME", "pipeline");
    set("STRIA_SHM_CELLS", GetParam() == Way::copied ? "8" : "128");
    stopped_ = std::make_unique<Sender>([](const ProcessSide& side) { send_and_stop(side, GetParam()); });
    other_ = std::make_unique<Sender>([](const ProcessSide& side) { send_many(side); });
    side_ = std::make_unique<ProcessSide>(stopped_->out(), stopped_->in());
    std::array<char, STRIA_ADDRESS_MAX> mine{}, theirs{};
    std::size_t bytes = mine.size();
    EXPECT_EQ(stria_worker_address(side_->worker, mine.data(), &bytes), STRIA_OK);
    EXPECT_EQ(::write(other_->out(), mine.data(), mine.size()), static_cast<ssize_t>(mine.size()));
    EXPECT_EQ(::read(other_->in(), theirs.data(), theirs.size()), static_cast<ssize_t>(theirs.size()));
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = theirs.data();
    params.address_bytes = bytes;
    EXPECT_EQ(stria_endpoint_open(side_->worker, &params, &other_peer_), STRIA_OK);
    for (stria_endpoint_t* peer : {side_->peer, other_peer_}) {
      long greeting = 0;
      Receive hello;
      receive(hello, peer, &greeting, sizeof greeting, 1);
      EXPECT_TRUE(progress_until([&] { return hello.ended(); }));
    }
  }
  ~StoppedSender() override {
    stopped_.reset();
    other_.reset();
    side_.reset();
    set("STRIA_RNDV_SCHEME", "auto");
    set("STRIA_SHM_CELLS", "128");
  }
  static void set(const char* name, const char* value) {
    EXPECT_EQ(stria_config_set(name, value, "test"), STRIA_OK) << stria_last_error();
  }
  void receive(Receive& op, stria_endpoint_t* from, void* memory, std::size_t bytes, std::uint64_t tag,
               std::uint32_t flags = 0) {
    const stria_recv_t args{memory, nullptr, bytes, {from, tag, 0}, nullptr, nullptr, flags, &op.info};
    op.status = stria_recv(side_->worker, &args, &op.request);
  }
  /// False: it did not come about within 20 s.
  template <class F>
  bool progress_until(F&& done) {
    const auto end = Clock::now() + std::chrono::seconds(20);
    while (!done()) {
      if (Clock::now() > end) return false;
      stria_worker_progress(side_->worker);
    }
    return true;
  }
  bool is_found() {
    const stria_match_t match{side_->peer, kTag, 0};
    stria_info_t info{};
    return stria_probe(side_->worker, &match, &info) == STRIA_OK;
  }
  bool is_stopped() {
    int status = 0;
    return ::waitpid(stopped_->pid(), &status, WUNTRACED | WNOHANG) == stopped_->pid() && WIFSTOPPED(status);
  }
  /// The sender stands in the middle of its message, and all that the receiver can do is done.
  void come_to_the_middle() {
    const bool is_posted = GetParam() != Way::kept && GetParam() != Way::copied && GetParam() != Way::looks;
    const auto take = [&](std::uint32_t flags) {
      stria_endpoint_t* const from = GetParam() == Way::any_source ? nullptr : side_->peer;
      receive(receive_, from, got_.data(), got_.size(), kTag, flags);
      EXPECT_EQ(receive_.status, STRIA_IN_PROGRESS);
    };
    if (is_posted) take(0);
    stopped_->go();
    if (GetParam() == Way::looks) {
      ASSERT_TRUE(progress_until_stopped_without_calls());
      take(STRIA_RECV_LOOK | STRIA_RECV_WAITS);
    } else {
      ASSERT_TRUE(progress_until([&] { return is_stopped(); }));
    }
    for (int i = 0; i < 1000; ++i) stria_worker_progress(side_->worker);
    if (GetParam() == Way::kept) {
      EXPECT_TRUE(is_found());
      take(0);
    }
    if (GetParam() == Way::copied) {
      EXPECT_FALSE(is_found()) << "it has not come";
      take(0);
    }
  }
  bool progress_until_stopped_without_calls() {
    int status = 0;
    return ::waitpid(stopped_->pid(), &status, WUNTRACED) == stopped_->pid() && WIFSTOPPED(status);
  }
  /// Another peer's messages arrive.
  void expect_others_come() {
    other_->go();
    for (int i = 0; i < kOthers; ++i) {
      std::vector<std::byte> room(kOtherBytes);
      Receive one;
      receive(one, other_peer_, room.data(), room.size(), kOtherTag);
      ASSERT_TRUE(progress_until([&] { return one.ended(); }));
      EXPECT_EQ(one.status, STRIA_OK);
      EXPECT_EQ(room.back(), static_cast<std::byte>(i));
    }
  }

  std::unique_ptr<Sender> stopped_, other_;
  std::unique_ptr<ProcessSide> side_;
  stria_endpoint_t* other_peer_ = nullptr;
  Receive receive_;
  std::vector<std::byte> got_ = std::vector<std::byte>(bytes_of(GetParam()));
};

TEST_P(StoppedSender, stops_its_own_receive_alone_and_its_message_is_whole_when_it_goes_on) {
  {
    const Rescue rescue(stopped_->pid());
    come_to_the_middle();
    expect_others_come();
    EXPECT_FALSE(rescue.came()) << "the receiver waited for the one that stands still";
  }
  EXPECT_FALSE(receive_.ended());
  ASSERT_EQ(::kill(stopped_->pid(), SIGCONT), 0);
  ASSERT_TRUE(progress_until([&] { return receive_.ended(); }));
  EXPECT_EQ(receive_.status, STRIA_OK);
  EXPECT_EQ(receive_.info.received, got_.size());
  for (std::size_t i = 0; i < got_.size(); ++i) ASSERT_EQ(got_[i], pattern(i)) << "byte " << i;
}

TEST_P(StoppedSender, ends_its_receive_with_an_error_when_it_is_killed) {
  {
    const Rescue rescue(stopped_->pid());
    come_to_the_middle();
    ASSERT_EQ(::kill(stopped_->pid(), SIGKILL), 0);
    ASSERT_TRUE(progress_until([&] { return receive_.ended(); }));
    EXPECT_FALSE(rescue.came());
  }
  EXPECT_EQ(receive_.status, STRIA_ERR_PEER_FAILED);
  expect_others_come();
}

std::string name_of(Way way) {
  switch (way) {
    case Way::posted:
      return "of_a_message_that_is_awaited";
    case Way::any_source:
      return "of_one_that_any_receive_takes";
    case Way::looks:
      return "of_one_that_a_receive_looks_for";
    case Way::synchronous:
      return "of_a_synchronous_one";
    case Way::kept:
      return "of_one_that_is_kept";
    case Way::copied:
      return "of_one_that_nobody_asked_for";
    case Way::fragment:
      return "of_a_fragment";
  }
  return "?";
}

INSTANTIATE_TEST_SUITE_P(Ways, StoppedSender,
                         testing::Values(Way::posted, Way::any_source, Way::looks, Way::synchronous,
                                         Way::kept, Way::copied, Way::fragment),
                         [](const testing::TestParamInfo<Way>& way) { return name_of(way.param); });

}  // namespace
}  // namespace stria::test
