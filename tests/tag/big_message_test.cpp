// One message of more than 4 GiB at the API, from one process to another over shm: each count and offset on
// its way has more than 32 bits. The sender's memory is a small pattern that is mapped again and again, so
// only the receiver's takes memory; the period divides no power of two, so that a byte at a wrong offset is a
// wrong byte.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "stria/stria.h"
#include "tests/tag/process_side.hpp"

namespace stria::test {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPeriod = 257 * kPage;
constexpr std::size_t kLength = (std::size_t{17} << 28) + 12345;  // 4.25 GiB and a bit
constexpr std::size_t kMapped = (kLength / kPeriod + 1) * kPeriod;

/// Address space; takes memory where it is touched.
class Reserve {
 public:
  Reserve() : data_(::mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, kHow, -1, 0)) {
    EXPECT_NE(data_, MAP_FAILED);
    ::madvise(data_, kMapped, MADV_HUGEPAGE);
  }
  ~Reserve() { ::munmap(data_, kMapped); }
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;
  unsigned char* data() const { return static_cast<unsigned char*>(data_); }

  /// Becomes the pattern throughout.
  void repeat(const std::vector<unsigned char>& pattern) {
    const int fd = ::memfd_create("pattern", MFD_CLOEXEC);
    ASSERT_EQ(::write(fd, pattern.data(), kPeriod), static_cast<ssize_t>(kPeriod));
    for (std::size_t at = 0; at < kMapped; at += kPeriod)
      ASSERT_NE(::mmap(data() + at, kPeriod, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0), MAP_FAILED);
    ::close(fd);
  }

 private:
  static constexpr int kHow = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* data_;
};

std::vector<unsigned char> pattern() {
  std::vector<unsigned char> out(kPeriod);
  std::uint64_t word = 1;
  for (auto& byte : out)
    byte = static_cast<unsigned char>((word = word * 6364136223846793005u + 1442695u) >> 56);
  return out;
}

std::uint64_t available_memory() {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("MemAvailable:")) return std::stoull(line.substr(13)) * 1024;
  return 0;
}

struct Pipes {
  std::array<int, 2> down{}, up{};
  Pipes() {
    EXPECT_EQ(::pipe(down.data()), 0);
    EXPECT_EQ(::pipe(up.data()), 0);
  }
  ~Pipes() {
    for (const int fd : {down[0], down[1], up[0], up[1]}) ::close(fd);
  }
  Pipes(const Pipes&) = delete;
  Pipes& operator=(const Pipes&) = delete;
};

/// Set before the context is opened.
struct Scheme {
  explicit Scheme(const std::string& name) {
    EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", name.c_str(), "test"), STRIA_OK);
  }
};

struct Side : Scheme, ProcessSide {
  Side(const std::string& scheme, const int out, const int in) : Scheme(scheme), ProcessSide(out, in) {}

  stria_status_t wait(stria_status_t started, stria_request_t& request, stria_info_t& info) const {
    if (started == STRIA_IN_PROGRESS) return stria_request_wait(worker, &request, &info);
    return started == STRIA_OK ? stria_request_test(&request, &info) : started;
  }
};

/// Sends from a process of its own; 0 when all went well.
int send_from_here(const std::string& scheme, const Pipes& pipes) {
  Reserve memory;
  memory.repeat(pattern());
  const Side side(scheme, pipes.up[1], pipes.down[0]);
  char word = 0;
  if (::read(pipes.down[0], &word, 1) != 1) return 2;  // the receive is posted, or never will be before
  stria_request_t request;
  stria_info_t info{};
  const stria_send_t send{memory.data(), nullptr, kLength, 5, 6, 0, nullptr, nullptr};
  if (side.wait(stria_send(side.peer, &send, &request), request, info) != STRIA_OK) return 3;
  return ::read(pipes.down[0], &word, 1) == 1 && !::testing::Test::HasFailure() ? 0 : 4;
}

/// Where memory differs from the repeated pattern; kLength: nowhere.
std::size_t first_wrong(const unsigned char* data, const std::vector<unsigned char>& wanted) {
  for (std::size_t at = 0; at < kLength; at += kPeriod) {
    const std::size_t bytes = std::min(kPeriod, kLength - at);
    if (std::memcmp(data + at, wanted.data(), bytes) == 0) continue;
    for (std::size_t i = 0; i < bytes; ++i)
      if (data[at + i] != wanted[i]) return at + i;
  }
  return kLength;
}

struct How {
  const char* scheme;
  bool expected;
};
class BigMessage : public ::testing::TestWithParam<How> {};

TEST_P(BigMessage, of_more_than_4_GiB_is_received_to_the_byte) {
  if (available_memory() < kLength + (std::size_t{2} << 30))
    GTEST_SKIP() << "needs " << (kLength >> 20) + 2048 << " MiB of free memory";
  const Pipes pipes;
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(send_from_here(GetParam().scheme, pipes));
  }
  {
    const Reserve memory;
    const Side side(GetParam().scheme, pipes.down[1], pipes.up[0]);
    memory.data()[kLength] = 0xee;
    stria_request_t request;
    stria_info_t info{};
    const stria_recv_t recv{memory.data(), nullptr, kLength, {nullptr, 5, 0}, nullptr, nullptr, 0, nullptr};
    const auto go = [&] { EXPECT_EQ(::write(pipes.down[1], "g", 1), 1); };
    if (GetParam().expected) {
      ASSERT_EQ(stria_recv(side.worker, &recv, &request), STRIA_IN_PROGRESS);
      go();
      EXPECT_EQ(side.wait(STRIA_IN_PROGRESS, request, info), STRIA_OK);
    } else {
      go();
      while (stria_probe(side.worker, &recv.match, &info) == STRIA_IN_PROGRESS)
        stria_worker_progress(side.worker);
      EXPECT_EQ(info.length, kLength);
      EXPECT_EQ(side.wait(stria_recv(side.worker, &recv, &request), request, info), STRIA_OK);
    }
    EXPECT_EQ(info.length, kLength);
    EXPECT_EQ(info.received, kLength);
    EXPECT_EQ(info.immediate, 6u);
    EXPECT_EQ(first_wrong(memory.data(), pattern()), kLength);
    EXPECT_EQ(memory.data()[kLength], 0xee);
    go();
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// By fragments alone; by what is chosen, where the receiver may read the end itself; by slices.
INSTANTIATE_TEST_SUITE_P(Ways, BigMessage,
                         ::testing::Values(How{"pipeline", true}, How{"auto", false}, How{"get", false}),
                         [](const auto& how) {
                           return std::string(how.param.scheme) +
                                  (how.param.expected ? "_expected" : "_unexpected");
                         });

}  // namespace
}  // namespace stria::test
