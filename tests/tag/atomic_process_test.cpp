// Atomics of several processes on one region, over real shm: in memory that all have mapped, each by its own
// CPU; in other memory, by the owner's engine; while the owner's CPU does the same. And a process that is
// killed in the middle.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <vector>

#include "stria/stria.h"
#include "tests/rounds.hpp"
#include "tests/tag/opened.hpp"

namespace stria::test {
namespace {

constexpr unsigned kProcesses = 3;
constexpr unsigned kMoves = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE;
constexpr unsigned kAtomic = STRIA_ACCESS_REMOTE_ATOMIC | STRIA_ACCESS_ATOMIC_WITH_CPU;

/// What a process says of its region to those that want it.
struct Introduction {
  std::array<char, STRIA_ADDRESS_MAX> address;
  std::array<char, STRIA_KEY_MAX> key;
  size_t address_bytes, key_bytes;
};

/// Owns the region.
struct Owner : Opened {
  explicit Owner(bool mapped) : is_mapped(mapped) {
    void* memory = own_.data();
    if (mapped) {
      EXPECT_EQ(stria_mem_alloc(context, 4096, &memory), STRIA_OK);
    }
    words = static_cast<std::uint64_t*>(memory);
    EXPECT_EQ(stria_region_register(worker, memory, nullptr, 64, kMoves | kAtomic, &region), STRIA_OK);
  }
  ~Owner() {
    EXPECT_EQ(stria_region_deregister(region), STRIA_OK);
    if (is_mapped) {
      EXPECT_EQ(stria_mem_free(context, words), STRIA_OK);
    }
  }
  void introduce(int out) const {
    Introduction self{};
    self.address_bytes = self.address.size();
    self.key_bytes = self.key.size();
    EXPECT_EQ(stria_worker_address(worker, self.address.data(), &self.address_bytes), STRIA_OK);
    EXPECT_EQ(stria_region_key(region, self.key.data(), &self.key_bytes), STRIA_OK);
    EXPECT_EQ(::write(out, &self, sizeof self), static_cast<ssize_t>(sizeof self));
  }
  bool is_mapped;
  std::uint64_t* words = nullptr;
  stria_region_t* region = nullptr;

 private:
  alignas(64) std::array<std::uint64_t, 8> own_{};
};

/// Changes the region of another.
struct Changer : Opened {
  explicit Changer(int in) {
    Introduction other{};
    EXPECT_EQ(::read(in, &other, sizeof other), static_cast<ssize_t>(sizeof other));
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = other.address.data();
    params.address_bytes = other.address_bytes;
    EXPECT_EQ(stria_endpoint_open(worker, &params, &to), STRIA_OK) << stria_last_error();
    EXPECT_EQ(stria_key_open(to, other.key.data(), other.key_bytes, &key), STRIA_OK) << stria_last_error();
  }
  ~Changer() { stria_key_close(key); }
  stria_status_t start(stria_atomic_op_t op, std::uint64_t offset, std::uint64_t operand,
                       std::uint64_t compare, std::uint64_t& before, stria_request_t& request) const {
    const stria_atomic_t args{sizeof args, op, key, offset, operand, compare, &before, nullptr, nullptr};
    return stria_atomic(to, &args, &request);
  }
  stria_status_t finish(stria_status_t answer, stria_request_t& request) const {
    return answer == STRIA_IN_PROGRESS ? stria_request_wait(worker, &request, nullptr) : answer;
  }
  /// Connects, and waits for the others.
  void begin_together(std::atomic<unsigned>& ready) const {
    stria_request_t request;
    std::uint64_t before = 0;
    ASSERT_EQ(finish(start(STRIA_ATOMIC_FETCH_ADD, 8, 0, 0, before, request), request), STRIA_OK);
    ++ready;
    while (ready < kProcesses) ::sched_yield();
  }
  void lock(std::uint64_t offset) const {
    for (std::uint64_t before = 1; before != 0;) {
      stria_request_t request;
      ASSERT_EQ(finish(start(STRIA_ATOMIC_COMPARE_SWAP, offset, 1, 0, before, request), request), STRIA_OK);
    }
  }
  void unlock(std::uint64_t offset) const {
    stria_request_t request;
    std::uint64_t before = 0;
    ASSERT_EQ(finish(start(STRIA_ATOMIC_COMPARE_SWAP, offset, 0, 1, before, request), request), STRIA_OK);
    ASSERT_EQ(before, 1u);
  }
  stria_endpoint_t* to = nullptr;
  stria_key_t* key = nullptr;
};

/// Memory that this process and its children have.
template <class T>
T* shared_array(std::size_t count) {
  return static_cast<T*>(
      ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

/// Children that run `body`, each with a pipe to hear of the owner.
class Children {
 public:
  explicit Children(const std::function<void(unsigned, Changer&)>& body) {
    for (unsigned i = 0; i < kProcesses; ++i) {
      std::array<int, 2> ends{};
      EXPECT_EQ(::pipe(ends.data()), 0);
      pids_[i] = ::fork();
      if (pids_[i] == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        {
          Changer changer(ends[0]);
          body(i, changer);
        }
        ::_exit(testing::Test::HasFailure() ? 1 : 0);
      }
      ::close(ends[0]);
      to_[i] = ends[1];
    }
  }
  ~Children() {
    for (const int fd : to_) ::close(fd);
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  void introduce(const Owner& owner) const {
    for (const int fd : to_) owner.introduce(fd);
  }
  /// Does `meanwhile` until all have ended; true: all well.
  bool wait(const std::function<void()>& meanwhile) {
    bool well = true;
    for (const pid_t pid : pids_) {
      int status = 1;
      while (::waitpid(pid, &status, WNOHANG) == 0) meanwhile();
      well = well && status == 0;
    }
    return well;
  }
  pid_t pid(unsigned i) const { return pids_[i]; }

 private:
  std::array<pid_t, kProcesses> pids_{};
  std::array<int, kProcesses> to_{};
};

class AtomicProcesses : public testing::TestWithParam<bool> {};  // of memory that is mapped

// With the owner's own CPU among them: each number is given once.
TEST_P(AtomicProcesses, add_up_with_each_other_and_with_the_owners_cpu) {
  const auto each = static_cast<unsigned>(rounds(GetParam() ? 300000 : 2000));
  constexpr unsigned kAtOnce = 16;
  const std::size_t all = std::size_t{each} * (kProcesses + 1);
  auto* const given = shared_array<std::atomic<std::uint8_t>>(all);
  auto* const ready = shared_array<std::atomic<unsigned>>(1);
  const auto give = [=](std::uint64_t number) { given[number < all ? number : 0].fetch_add(1); };
  Children children([&](unsigned, Changer& changer) {
    struct One {
      stria_request_t request;
      std::uint64_t before = 0;
      stria_status_t answer = STRIA_OK;
    };
    std::array<One, kAtOnce> ops;
    changer.begin_together(*ready);
    for (unsigned done = 0; done < each;) {
      const unsigned some = std::min(kAtOnce, each - done);
      for (unsigned i = 0; i < some; ++i)
        ops[i].answer = changer.start(STRIA_ATOMIC_FETCH_ADD, 8, 1, 0, ops[i].before, ops[i].request);
      for (unsigned i = 0; i < some; ++i) {
        ASSERT_EQ(changer.finish(ops[i].answer, ops[i].request), STRIA_OK);
        give(ops[i].before);
      }
      done += some;
    }
  });
  Owner owner(GetParam());
  children.introduce(owner);
  unsigned own = 0;
  EXPECT_TRUE(children.wait([&] {
    for (int i = 0; i < 10 && own < each; ++i, ++own)
      give(__atomic_fetch_add(&owner.words[1], 1, __ATOMIC_RELAXED));
    stria_worker_progress(owner.worker);
  }));
  for (; own < each; ++own) give(__atomic_fetch_add(&owner.words[1], 1, __ATOMIC_RELAXED));
  EXPECT_EQ(owner.words[1], all);
  for (std::size_t i = 0; i < all; ++i) ASSERT_EQ(given[i].load(), 1u) << "number " << i;
  EXPECT_EQ(owner.words[0], 0u);
  EXPECT_EQ(owner.words[2], 0u);
  ::munmap(given, all);
  ::munmap(ready, sizeof *ready);
}

// What a swap saw was there when it stored: else counts are lost.
TEST_P(AtomicProcesses, count_by_compare_swap) {
  const auto each = static_cast<unsigned>(rounds(GetParam() ? 200000 : 500));
  auto* const ready = shared_array<std::atomic<unsigned>>(1);
  Children children([&](unsigned, Changer& changer) {
    changer.begin_together(*ready);
    std::uint64_t seen = 0;
    for (unsigned i = 0; i < each;) {
      std::uint64_t before = 0;
      stria_request_t request;
      ASSERT_EQ(changer.finish(changer.start(STRIA_ATOMIC_COMPARE_SWAP, 8, seen + 1, seen, before, request),
                               request),
                STRIA_OK);
      if (before == seen) ++i;
      seen = before == seen ? seen + 1 : before;
    }
  });
  Owner owner(GetParam());
  children.introduce(owner);
  EXPECT_TRUE(children.wait([&] { stria_worker_progress(owner.worker); }));
  EXPECT_EQ(owner.words[1], each * kProcesses);
  ::munmap(ready, sizeof *ready);
}

// The counter is read and written by get and put, which nothing but the lock keeps apart.
TEST_P(AtomicProcesses, lock_each_other_out) {
  const auto each = static_cast<unsigned>(rounds(GetParam() ? 100000 : 100));
  auto* const ready = shared_array<std::atomic<unsigned>>(1);
  Children children([&](unsigned, Changer& changer) {
    changer.begin_together(*ready);
    for (unsigned i = 0; i < each; ++i) {
      std::uint64_t value = 0;
      const stria_rma_t rma{&value, nullptr, 8, changer.key, 8, nullptr, nullptr};
      stria_request_t request;
      changer.lock(16);
      ASSERT_EQ(changer.finish(stria_get(changer.to, &rma, &request), request), STRIA_OK);
      ++value;
      ASSERT_EQ(changer.finish(stria_put(changer.to, &rma, &request), request), STRIA_OK);
      changer.unlock(16);
    }
  });
  Owner owner(GetParam());
  children.introduce(owner);
  EXPECT_TRUE(children.wait([&] { stria_worker_progress(owner.worker); }));
  EXPECT_EQ(owner.words[1], each * kProcesses);
  EXPECT_EQ(owner.words[2], 0u);
  ::munmap(ready, sizeof *ready);
}

TEST_P(AtomicProcesses, go_on_when_one_of_them_is_killed) {
  const auto each = static_cast<unsigned>(rounds(500));
  auto* const told = shared_array<std::atomic<std::uint64_t>>(kProcesses);
  Children children([&](unsigned index, Changer& changer) {
    for (unsigned i = 0; index == 0 || i < each; ++i) {
      stria_request_t request;
      std::uint64_t before = 0;
      ASSERT_EQ(changer.finish(changer.start(STRIA_ATOMIC_FETCH_ADD, 0, 1, 0, before, request), request),
                STRIA_OK);
      ++told[index];
    }
  });
  {
    Owner owner(GetParam());
    children.introduce(owner);
    while (told[0] < 100) stria_worker_progress(owner.worker);
    ::kill(children.pid(0), SIGKILL);
    EXPECT_FALSE(children.wait([&] { stria_worker_progress(owner.worker); }));
    EXPECT_EQ(told[1], each);
    EXPECT_EQ(told[2], each);
    const std::uint64_t heard = told[0] + told[1] + told[2];
    EXPECT_GE(owner.words[0], heard);
    EXPECT_LE(owner.words[0], heard + 1) << "one may have been performed for the dead";
  }  // the region ends although a process died that may have been at it
  ::munmap(told, sizeof *told * kProcesses);
}

INSTANTIATE_TEST_SUITE_P(Memory, AtomicProcesses, testing::Bool(),
                         [](const auto& param) { return param.param ? "mapped" : "not_mapped"; });

// The owner performs them, and dies: all end, those that were asked for and those that had no room yet.
TEST(AtomicOwner, that_is_killed_leaves_no_atomic_waiting) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const Owner owner(false);
    owner.introduce(ends[1]);
    // Performs some, then nothing more.
    while (__atomic_load_n(&owner.words[0], __ATOMIC_RELAXED) == 0) stria_worker_progress(owner.worker);
    ::pause();
  }
  {
    Changer changer(ends[0]);
    stria_request_t first;
    std::uint64_t before = 0;
    ASSERT_EQ(changer.finish(changer.start(STRIA_ATOMIC_FETCH_ADD, 0, 1, 0, before, first), first), STRIA_OK);
    std::deque<stria_request_t> requests(3000);  // more than the window holds
    for (stria_request_t& request : requests)
      ASSERT_EQ(changer.start(STRIA_ATOMIC_FETCH_ADD, 0, 1, 0, before, request), STRIA_IN_PROGRESS);
    ::kill(child, SIGKILL);
    const auto begin = std::chrono::steady_clock::now();
    unsigned failed = 0;
    for (stria_request_t& request : requests) {
      const stria_status_t outcome = stria_request_wait(changer.worker, &request, nullptr);
      EXPECT_TRUE(outcome == STRIA_OK || outcome == STRIA_ERR_PEER_FAILED) << stria_status_string(outcome);
      failed += outcome == STRIA_OK ? 0 : 1;
    }
    EXPECT_GT(failed, 0u);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
    stria_request_t late;
    EXPECT_EQ(changer.start(STRIA_ATOMIC_FETCH_ADD, 0, 1, 0, before, late), STRIA_ERR_PEER_FAILED);
  }
  ::waitpid(child, nullptr, 0);
  for (const int fd : ends) ::close(fd);
}

}  // namespace
}  // namespace stria::test
