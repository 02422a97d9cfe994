// Messages that are read while they are written (shm's growing cells), and whose sender stops in the middle,
// for a while or for good: it comes to a page that it may not read.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/tag/process_side.hpp"

namespace stria::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBytes = 32768;
constexpr std::size_t kReadable = 8192;  // before the page where its sender stops
constexpr std::uint64_t kTag = 7;

std::byte pattern(std::size_t i) {
  return static_cast<std::byte>(i * 31 + i / 256 + 1);
}

// Of the sender's process.
std::byte* pages = nullptr;
/// What it does there.
enum class There { dies, pauses, stops };
There there = There::dies;
std::uint32_t send_flags = 0;

void at_the_page(int /*signal*/) {
  if (there == There::dies) ::_exit(0);
  if (there == There::stops)
    ::kill(::getpid(), SIGSTOP);
  else
    ::usleep(150000);
  ::mprotect(pages + kReadable, kBytes - kReadable, PROT_READ | PROT_WRITE);
}

/// Of the receiver's memory; synchronous: contiguous, and the message is sent so.
enum class Shape { contiguous, column, synchronous };

/// 256 bytes of 512.
stria_layout_t* column() {
  stria_layout_t *bytes = nullptr, *layout = nullptr;
  EXPECT_EQ(stria_layout_bytes(256, &bytes), STRIA_OK);
  EXPECT_EQ(stria_layout_resized(bytes, 0, 512, &layout), STRIA_OK);
  stria_layout_free(bytes);
  return layout;
}

void send(ProcessSide& side) {
  void* const made = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pages = static_cast<std::byte*>(made);
  for (std::size_t i = 0; i < kBytes; ++i) pages[i] = pattern(i);
  struct sigaction action {};
  action.sa_handler = at_the_page;
  ::sigaction(SIGSEGV, &action, nullptr);
  ::mprotect(pages + kReadable, kBytes - kReadable, PROT_NONE);
  stria_send_t args{};
  args.base = pages;
  args.count = kBytes;
  args.tag = kTag;
  args.flags = send_flags;
  stria_request_t request;
  if (stria_send(side.peer, &args, &request) == STRIA_IN_PROGRESS)
    stria_request_wait(side.worker, &request, nullptr);
}

/// The receiver's side, and a peer that sends one message and ends with this side.
class CutShort : public testing::TestWithParam<Shape> {
 protected:
  void meet(There what_it_does) {
    ASSERT_EQ(stria_config_set("STRIA_SHM_DISTANCE", "near", "test"), STRIA_OK);
    ASSERT_EQ(::pipe(down_.data()), 0);
    ASSERT_EQ(::pipe(up_.data()), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      there = what_it_does;
      send_flags = GetParam() == Shape::synchronous ? std::uint32_t{STRIA_SEND_SYNCHRONOUS} : 0;
      ProcessSide side(up_[1], down_[0]);
      long greeting = 1;
      const stria_send_t hello{&greeting, nullptr, sizeof greeting, 1, 0, 0, nullptr, nullptr};
      stria_request_t request;
      if (stria_send(side.peer, &hello, &request) == STRIA_IN_PROGRESS)
        stria_request_wait(side.worker, &request, nullptr);
      char word = 0;
      while (::read(down_[0], &word, 1) != 1) continue;
      send(side);
      while (::read(down_[0], &word, 1) == 1) continue;
      ::_exit(0);
    }
    side_ = std::make_unique<ProcessSide>(down_[1], up_[0]);
    long greeting = 0;
    EXPECT_EQ(finish(start(&greeting, sizeof greeting, 1)), STRIA_OK);
    EXPECT_EQ(greeting, 1);
  }
  void TearDown() override {
    stria_layout_free(column_);
    for (const int fd : {down_[0], down_[1], up_[0], up_[1]}) ::close(fd);
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  /// From now on the peer sends.
  void go() { ASSERT_EQ(::write(down_[1], "g", 1), 1); }
  /// Of a sender that stopped.
  void tell(int signal) { ASSERT_EQ(::kill(child_, signal), 0); }
  /// Until the sender has stopped: a signal to go on that comes before would be lost.
  void await_stop() {
    int status = 0;
    ASSERT_EQ(::waitpid(child_, &status, WUNTRACED), child_);
    ASSERT_TRUE(WIFSTOPPED(status)) << status;
  }
  /// Whether a probe finds the message, within a minute.
  bool probe() {
    const stria_match_t match{side_->peer, kTag, 0};
    const auto end = Clock::now() + std::chrono::minutes(1);
    bool found = false;
    for (; !found && Clock::now() < end; found = stria_probe(side_->worker, &match, &info_) == STRIA_OK)
      stria_worker_progress(side_->worker);
    return found;
  }
  /// Into contiguous memory, or into that with gaps, of which each test has as much.
  stria_status_t start(void* memory, std::size_t bytes, std::uint64_t tag, bool any = false,
                       std::uint32_t flags = 0) {
    const bool gaps = GetParam() == Shape::column && tag == kTag;
    const stria_recv_t args{memory,
                            gaps ? column_ : nullptr,
                            gaps ? bytes / 256 : bytes,
                            {any ? nullptr : side_->peer, tag, 0},
                            nullptr,
                            nullptr,
                            flags,
                            nullptr};
    return stria_recv(side_->worker, &args, &request_);
  }
  void await_death() {
    siginfo_t how{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child_), &how, WEXITED | WNOWAIT), 0);
  }
  /// What the peer has sent before it stopped or died is there: a receive that looks finds it.
  stria_status_t look_for_what_is_there(std::vector<std::byte>& got) {
    return start(got.data(), kBytes, kTag, false, STRIA_RECV_LOOK | STRIA_RECV_WAITS);
  }
  /// How the receive ended, within a minute.
  stria_status_t finish(stria_status_t started) {
    if (started < STRIA_OK) return started;
    const auto end = Clock::now() + std::chrono::minutes(1);
    while (Clock::now() < end) {
      if (const stria_status_t status = stria_request_test(&request_, &info_); status != STRIA_IN_PROGRESS)
        return status;
      stria_worker_progress(side_->worker);
    }
    ADD_FAILURE() << "the receive does not end";
    return STRIA_IN_PROGRESS;
  }
  void expect_the_message(const std::vector<std::byte>& got) {
    EXPECT_EQ(info_.received, kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) ASSERT_EQ(got[place(i)], pattern(i)) << "byte " << i;
  }
  /// Where byte i of a message lies.
  static std::size_t place(std::size_t i) {
    return GetParam() == Shape::column ? i / 256 * 512 + i % 256 : i;
  }
  stria_layout_t* column_ = column();
  std::unique_ptr<ProcessSide> side_;
  stria_request_t request_;
  stria_info_t info_{};

 private:
  std::array<int, 2> down_{}, up_{};
  pid_t child_ = 0;
};

TEST_P(CutShort, a_sender_that_pauses_is_waited_for) {
  meet(There::pauses);
  std::vector<std::byte> got(2 * kBytes);
  const stria_status_t started = start(got.data(), kBytes, kTag);
  go();
  EXPECT_EQ(finish(started), STRIA_OK);
  expect_the_message(got);
}

TEST_P(CutShort, so_is_that_of_an_unexpected_message) {
  meet(There::pauses);
  go();
  EXPECT_TRUE(probe());
  EXPECT_EQ(info_.length, kBytes);
  std::vector<std::byte> got(2 * kBytes);
  EXPECT_EQ(finish(start(got.data(), kBytes, kTag)), STRIA_OK);
  expect_the_message(got);
}

// Progress does not wait with it: what else comes goes on.
TEST_P(CutShort, a_probe_finds_it_while_its_sender_is_stopped) {
  meet(There::stops);
  go();
  ASSERT_TRUE(probe());
  EXPECT_EQ(info_.length, kBytes);
  await_stop();
  tell(SIGCONT);
  std::vector<std::byte> got(2 * kBytes);
  EXPECT_EQ(finish(start(got.data(), kBytes, kTag)), STRIA_OK);
  expect_the_message(got);
}

TEST_P(CutShort, a_receive_after_the_probe_ends_with_an_error_when_its_sender_died) {
  meet(There::stops);
  go();
  ASSERT_TRUE(probe());
  await_stop();
  tell(SIGKILL);
  std::vector<std::byte> got(2 * kBytes);
  EXPECT_EQ(finish(start(got.data(), kBytes, kTag)), STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(info_.received, 0u);
  EXPECT_EQ(start(got.data(), kBytes, kTag), STRIA_ERR_PEER_FAILED);
}

TEST_P(CutShort, a_shorter_receive_has_its_part_and_is_told) {
  meet(There::pauses);
  std::vector<std::byte> got(2 * kBytes);
  const stria_status_t started = start(got.data(), 5888, kTag);
  go();
  EXPECT_EQ(finish(started), STRIA_ERR_TRUNCATED);
  EXPECT_EQ(info_.received, 5888u);
  EXPECT_EQ(info_.length, kBytes);
  EXPECT_EQ(got[place(5887)], pattern(5887));
  EXPECT_EQ(got[place(5888)], std::byte{0});
}

TEST_P(CutShort, a_receive_of_a_sender_that_dies_ends_with_an_error) {
  meet(There::dies);
  std::vector<std::byte> got(2 * kBytes);
  const stria_status_t started = start(got.data(), kBytes, kTag);
  go();
  EXPECT_EQ(finish(started), STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(info_.received, 0u);
  EXPECT_EQ(start(got.data(), kBytes, kTag), STRIA_ERR_PEER_FAILED) << "it is gone for the next one, too";
}

TEST_P(CutShort, so_does_one_from_any_source_that_the_message_had_matched) {
  meet(There::dies);
  std::vector<std::byte> got(2 * kBytes);
  const stria_status_t started = start(got.data(), kBytes, kTag, true);
  go();
  EXPECT_EQ(finish(started), STRIA_ERR_PEER_FAILED);
}

TEST_P(CutShort, a_receive_that_looks_does_not_wait_in_the_call_for_the_sender_of_what_it_finds) {
  meet(There::stops);
  std::vector<std::byte> got(2 * kBytes);
  go();
  await_stop();
  const stria_status_t started = look_for_what_is_there(got);
  EXPECT_EQ(started, STRIA_IN_PROGRESS);
  tell(SIGCONT);
  EXPECT_EQ(finish(started), STRIA_OK);
  expect_the_message(got);
}

TEST_P(CutShort, a_receive_that_looks_ends_with_an_error_when_the_sender_of_what_it_finds_died) {
  meet(There::dies);
  std::vector<std::byte> got(2 * kBytes);
  go();
  await_death();
  const stria_status_t started = look_for_what_is_there(got);
  EXPECT_EQ(finish(started), STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(info_.received, 0u);
  EXPECT_EQ(start(got.data(), kBytes, kTag), STRIA_ERR_PEER_FAILED);
}

/// Cancels another receive in the callback of its own.
struct Canceller {
  stria_worker_t* worker;
  stria_request_t* other;
  stria_status_t answer = STRIA_OK;
  static void call(stria_request_t* /*request*/, const stria_info_t* /*info*/, void* self) {
    auto& one = *static_cast<Canceller*>(self);
    one.answer = stria_request_cancel(one.worker, one.other);
  }
};

// The death of the sender ends receives of it, and their callbacks may do what callbacks may.
TEST_P(CutShort, a_receive_that_the_message_had_matched_is_not_cancelled_any_more) {
  meet(There::dies);
  std::vector<std::byte> got(2 * kBytes);
  ASSERT_EQ(start(got.data(), kBytes, kTag), STRIA_IN_PROGRESS);
  Canceller canceller{side_->worker, &request_};
  long word = 0;
  const stria_recv_t args{&word,           nullptr,    sizeof word, {side_->peer, kTag + 1, 0},
                          Canceller::call, &canceller, 0,           nullptr};
  stria_request_t request;
  ASSERT_EQ(stria_recv(side_->worker, &args, &request), STRIA_IN_PROGRESS);
  go();
  EXPECT_EQ(finish(STRIA_IN_PROGRESS), STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(canceller.answer, STRIA_ERR_NO_RESOURCE);
}

TEST_P(CutShort, nothing_is_left_of_an_unexpected_message_whose_sender_dies) {
  meet(There::dies);
  go();
  const stria_match_t match{side_->peer, kTag, 0};
  const auto end = Clock::now() + std::chrono::minutes(1);
  stria_endpoint_state_t state{};
  state.size = sizeof state;
  do {
    stria_worker_progress(side_->worker);
    ASSERT_EQ(stria_endpoint_info(side_->peer, &state), STRIA_OK);
  } while (state.connected != 0 && Clock::now() < end);
  EXPECT_EQ(state.connected, 0u);
  EXPECT_NE(stria_probe(side_->worker, &match, &info_), STRIA_OK) << "it never came whole";
  std::vector<std::byte> got(2 * kBytes);
  EXPECT_EQ(start(got.data(), kBytes, kTag), STRIA_ERR_PEER_FAILED);
}

INSTANTIATE_TEST_SUITE_P(Shapes, CutShort,
                         testing::Values(Shape::contiguous, Shape::column, Shape::synchronous),
                         [](const testing::TestParamInfo<Shape>& shape) {
                           switch (shape.param) {
                             case Shape::column:
                               return "of_a_column";
                             case Shape::synchronous:
                               return "of_a_synchronous_send";
                             default:
                               return "of_contiguous_memory";
                           }
                         });

}  // namespace
}  // namespace stria::test
