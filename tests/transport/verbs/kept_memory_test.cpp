// Registered memory of a whole library: what happens to messages when the system refuses to lock memory, and
// when the process forks while its memory is registered. Runs in the laboratory.
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include "stria/stria.h"

namespace stria::verbs::test {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20;

/// From now on the process is held to its limit of locked memory. Once, before it opens a device: the kernel
/// takes nothing from one whose rights changed since. So these tests have a program of their own. False: it
/// could not be said.
bool give_up_locking_without_limit() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  if (::syscall(SYS_capget, &head, data.data()) != 0) return false;
  data[0].effective &= ~(1u << CAP_IPC_LOCK);
  return ::syscall(SYS_capset, &head, data.data()) == 0;
}
bool limit_locked_memory(rlim_t bytes) {
  const rlimit limit{bytes, RLIM_INFINITY};
  return ::setrlimit(RLIMIT_MEMLOCK, &limit) == 0;
}
/// What is pinned now.
rlim_t pinned_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmPin:")) return std::stoull(line.substr(6)) * 1024;
  return 0;
}

/// Fresh memory of one byte all over.
class Memory {
 public:
  explicit Memory(int byte)
      : data_(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    fill(byte);
  }
  ~Memory() { ::munmap(data_, kBytes); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void fill(int byte) { std::memset(data_, byte, kBytes); }
  bool is(const Memory& other) const { return std::memcmp(data_, other.data_, kBytes) == 0; }
  void* data() { return data_; }

 private:
  void* data_;
};

/// Two workers of this process.
class KeptMemory : public testing::Test {
 protected:
  void SetUp() override {
    static const bool is_limited = give_up_locking_without_limit();
    ASSERT_TRUE(is_limited);
    ASSERT_TRUE(limit_locked_memory(RLIM_INFINITY));
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", "verbs", "test"), STRIA_OK);
    EXPECT_EQ(stria_context_open(nullptr, &context), STRIA_OK) << stria_last_error();
    for (auto& worker : workers)
      EXPECT_EQ(stria_worker_open(context, nullptr, &worker), STRIA_OK) << stria_last_error();
    std::array<char, STRIA_ADDRESS_MAX> address{};
    std::size_t bytes = address.size();
    EXPECT_EQ(stria_worker_address(workers[1], address.data(), &bytes), STRIA_OK);
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = address.data();
    params.address_bytes = bytes;
    EXPECT_EQ(stria_endpoint_open(workers[0], &params, &endpoint), STRIA_OK) << stria_last_error();
    long here = 1, there = 0;
    transfer(&here, &there, sizeof here);  // connects
    EXPECT_EQ(there, 1);
  }
  ~KeptMemory() override {
    for (auto* worker : workers) stria_worker_close(worker);
    stria_context_close(context);
  }
  void transfer(const void* from, void* to, std::uint64_t bytes) {
    stria_request_t sent, received;
    const stria_recv_t recv{to, nullptr, bytes, {nullptr, 1, 0}, nullptr, nullptr, 0, nullptr};
    ASSERT_EQ(stria_recv(workers[1], &recv, &received), STRIA_IN_PROGRESS) << stria_last_error();
    const stria_send_t send{from, nullptr, bytes, 1, 0, 0, nullptr, nullptr};
    bool is_sent = stria_send(endpoint, &send, &sent) == STRIA_OK, is_received = false;
    stria_info_t info{};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!is_sent || !is_received) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "the transfer does not end";
      for (auto* worker : workers) stria_worker_progress(worker);
      is_sent = is_sent || stria_request_test(&sent, nullptr) != STRIA_IN_PROGRESS;
      is_received = is_received || stria_request_test(&received, &info) != STRIA_IN_PROGRESS;
    }
    EXPECT_EQ(info.status, STRIA_OK);
  }
  stria_counters_t counters() {
    stria_counters_t out{};
    out.size = sizeof out;
    EXPECT_EQ(stria_worker_counters(workers[1], &out), STRIA_OK);
    return out;
  }
  stria_context_t* context = nullptr;
  stria_worker_t* workers[2] = {};
  stria_endpoint_t* endpoint = nullptr;
};

TEST_F(KeptMemory, that_the_system_refuses_to_lock_is_told_with_the_limit_and_goes_packed) {
  const rlim_t limit = pinned_bytes() + 65536;
  ASSERT_TRUE(limit_locked_memory(limit));
  Memory source(7), sink(0);
  testing::internal::CaptureStderr();
  transfer(source.data(), sink.data(), kBytes);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(sink.is(source));
  EXPECT_EQ(counters().received_pipeline, 1u);
  EXPECT_EQ(counters().received_get, 0u);
  EXPECT_NE(said.find("1048576 bytes of the application's memory cannot be registered"), std::string::npos)
      << said;
  const std::string remedy =
      "the limit of locked memory is " + std::to_string(limit / 1024) + " KiB: raise it with ulimit -l";
  EXPECT_NE(said.find(remedy), std::string::npos) << said;
  ASSERT_TRUE(limit_locked_memory(RLIM_INFINITY));
  // Memory that was refused is passed over a few times, and then asked for again.
  constexpr int kSoon = 8;
  for (int i = 0; i < kSoon && counters().received_get == 0; ++i) {
    source.fill(8 + i);
    transfer(source.data(), sink.data(), kBytes);
    EXPECT_TRUE(sink.is(source));
  }
  EXPECT_EQ(counters().received_get, 1u) << "soon after it may be locked";
}

TEST_F(KeptMemory, stays_the_parents_when_the_process_forks) {
  Memory source(1), sink(0);
  transfer(source.data(), sink.data(), kBytes);
  ASSERT_TRUE(sink.is(source));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    source.fill(99);
    sink.fill(98);
    for (;;) ::pause();
  }
  for (int round = 2; round < 12; ++round) {
    source.fill(round);
    transfer(source.data(), sink.data(), kBytes);
    ASSERT_TRUE(sink.is(source)) << "round " << round;
  }
  EXPECT_EQ(counters().received_get, 11u);
  EXPECT_EQ(::kill(child, SIGKILL), 0);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace stria::verbs::test
