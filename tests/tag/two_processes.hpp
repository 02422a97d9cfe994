// Two processes over shm that exchange messages and look at each byte of them; what a test takes away from
// one of them, as the system gives it back to none, ends with the process.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/tag/process_side.hpp"

namespace stria::test {

inline constexpr std::size_t kPage = 4096;
inline constexpr std::int64_t kRow = 1000, kPitch = 1500;
inline constexpr std::size_t kLongest = 600000, kRoom = 224 * kPage;  // kLongest bytes in rows fit it
static_assert(kLongest / kRow * kPitch <= kRoom);

inline std::byte pattern(std::uint64_t seed, std::size_t i) {
  return static_cast<std::byte>((seed * 131 + i * 7 + (i >> 8) * 13) & 0xff);
}
/// Where byte i of a message lies.
inline std::size_t place(std::size_t i, bool rows) {
  return rows ? i / kRow * kPitch + i % kRow : i;
}

/// One of the two processes; the first sends.
class Member : public ProcessSide {
 public:
  Member(int out, int in, bool first) : ProcessSide(out, in), is_first(first) {
    stria_layout_t* byte = nullptr;
    EXPECT_EQ(stria_layout_bytes(1, &byte), STRIA_OK);
    EXPECT_EQ(stria_layout_vector(1, kRow, kRow, byte, &row_), STRIA_OK);
    EXPECT_EQ(stria_layout_resized(row_, 0, kPitch, &rows_), STRIA_OK);
    stria_layout_free(byte);
  }
  ~Member() {
    stria_layout_free(rows_);
    stria_layout_free(row_);
  }
  stria_status_t finish(stria_status_t answer, stria_request_t& request) const {
    return answer == STRIA_IN_PROGRESS ? stria_request_wait(worker, &request, nullptr) : answer;
  }
  stria_status_t send(const void* base, std::size_t bytes, bool rows = false) const {
    const stria_send_t args{base,   rows ? rows_ : nullptr, rows ? bytes / kRow : bytes, 1, 0, 0, nullptr,
                            nullptr};
    stria_request_t request;
    return finish(stria_send(peer, &args, &request), request);
  }
  stria_status_t recv(void* base, std::size_t bytes, bool rows = false) const {
    stria_recv_t args{};
    args.base = base;
    args.layout = rows ? rows_ : nullptr;
    args.count = rows ? bytes / kRow : bytes;
    args.match = {peer, 1, 0};
    stria_request_t request;
    return finish(stria_recv(worker, &args, &request), request);
  }
  /// One message from the first to the second process, which looks at every byte of the room.
  void exchange(std::byte* memory, std::size_t bytes, bool rows, std::uint64_t seed) const {
    if (is_first) {
      for (std::size_t i = 0; i < bytes; ++i) memory[place(i, rows)] = pattern(seed, i);
      ASSERT_EQ(send(memory, bytes, rows), STRIA_OK) << stria_last_error();
      return;
    }
    std::memset(memory, 0xa5, kRoom);
    ASSERT_EQ(recv(memory, bytes, rows), STRIA_OK) << stria_last_error();
    std::size_t wrong = 0, astray = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      std::byte& one = memory[place(i, rows)];
      wrong += one != pattern(seed, i) ? 1 : 0;
      one = std::byte{0xa5};
    }
    for (std::size_t i = 0; i < kRoom; ++i) astray += memory[i] != std::byte{0xa5} ? 1 : 0;
    ASSERT_EQ(wrong, 0u) << "of " << bytes << " bytes";
    EXPECT_EQ(astray, 0u);
  }
  /// True in both processes when it is in both.
  bool agree(bool here) const {
    bool there = false;
    const bool other_way = !is_first;
    for (const bool sends : {is_first, other_way})
      EXPECT_EQ(sends ? send(&here, 1) : recv(&there, 1), STRIA_OK);
    return here && there;
  }
  /// Whether the kernel lets this process read and write the other one's memory.
  bool attaches() const {
    stria_endpoint_state_t state{};
    state.size = sizeof state;
    EXPECT_EQ(stria_endpoint_info(peer, &state), STRIA_OK);
    return std::strstr(state.path, "+ cma") != nullptr;
  }
  stria_counters_t counters() const {
    stria_counters_t out{};
    out.size = sizeof out;
    EXPECT_EQ(stria_worker_counters(worker, &out), STRIA_OK);
    return out;
  }
  const bool is_first;

 private:
  stria_layout_t *row_ = nullptr, *rows_ = nullptr;
};

using Variables = std::vector<std::array<const char*, 2>>;
/// What a process did not find; the test is skipped for it.
using Missing = std::string;

/// Runs `body` in two processes of their own, as it may take away from them what no process gets back.
inline void in_two_processes(const Variables& variables, const std::function<Missing(const Member&)>& body) {
  std::array<int, 2> down{}, up{}, told{};
  for (auto* ends : {&down, &up, &told}) ASSERT_EQ(::pipe(ends->data()), 0);
  std::array<pid_t, 2> children{};
  for (const bool first : {true, false}) {
    pid_t& child = children[first ? 0 : 1];
    child = ::fork();
    if (child != 0) continue;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const auto& [name, value] : variables)
      EXPECT_EQ(stria_config_set(name, value, "test"), STRIA_OK) << stria_last_error();
    {
      const Member member(first ? up[1] : down[1], first ? down[0] : up[0], first);
      const Missing missing = body(member);
      EXPECT_EQ(::write(told[1], missing.data(), missing.size()), static_cast<ssize_t>(missing.size()));
    }
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  for (const int fd : {down[0], down[1], up[0], up[1], told[1]}) ::close(fd);
  for (int ended = 0; ended < 2; ++ended) {
    int status = 1;
    const pid_t child = ::wait(&status);
    EXPECT_EQ(status, 0) << "what a process found is above";
    if (status != 0 && ended == 0) ::kill(children[child == children[0] ? 1 : 0], SIGKILL);
  }
  std::array<char, 256> why{};
  const ssize_t bytes = ::read(told[0], why.data(), why.size());
  ::close(told[0]);
  if (bytes > 0) GTEST_SKIP() << std::string(why.data(), static_cast<std::size_t>(bytes));
}

}  // namespace stria::test
