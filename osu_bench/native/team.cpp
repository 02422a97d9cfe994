#include "osu_bench/native/team.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

namespace stria::bench {
namespace {

/// Binds the calling process to the `rank`-th core it may use, round robin.
void bind_to_core(int rank) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0) return;
  int left = rank % CPU_COUNT(&allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || left-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

}  // namespace

int Team::run(int members, const std::function<int(int, Team&)>& member) {
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("shared memory of the benchmark's processes");
    return 1;
  }
  Team team(members, new (memory) Shared);
  std::vector<pid_t> children;
  int failed = 0;
  const pid_t parent = ::getpid();
  for (int rank = 0; rank < members && failed == 0; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no member outlives an interrupted program
      if (::getppid() != parent) ::_exit(1);
      bind_to_core(rank);
      const int code = member(rank, team);
      std::fflush(nullptr);
      ::_exit(code);
    }
    if (child < 0) {
      std::perror("fork");
      failed = 1;
    } else {
      children.push_back(child);
    }
  }
  for (std::size_t ended = 0; ended < children.size(); ++ended) {
    if (failed != 0) {
      for (const pid_t child : children) {
        if (child > 0) ::kill(child, SIGKILL);
      }
    }
    int status = 0;
    pid_t child = 0;
    do {
      child = ::wait(&status);
    } while (child < 0 && errno == EINTR);
    for (pid_t& known : children) known = known == child ? 0 : known;
    if (failed == 0 && WIFSIGNALED(status)) {
      std::fprintf(stderr, "a process of the benchmark died: %s\n", ::strsignal(WTERMSIG(status)));
      failed = 1;
    } else if (failed == 0 && WIFEXITED(status)) {
      failed = WEXITSTATUS(status);
    }
  }
  ::munmap(memory, sizeof(Shared));
  return failed;
}

void Team::barrier() {
  const std::uint32_t generation = shared_->generation.load(std::memory_order_acquire);
  if (shared_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(members_)) {
    shared_->arrived.store(0, std::memory_order_relaxed);
    shared_->generation.fetch_add(1, std::memory_order_release);  // pairs with the acquire below
    return;
  }
  while (shared_->generation.load(std::memory_order_acquire) == generation) ::sched_yield();
}

std::vector<std::string> Team::exchange(int rank, const std::string& mine) {
  if (mine.size() > kRoom) throw std::length_error("more than a member of a team can publish");
  const auto at = static_cast<std::size_t>(rank);
  std::memcpy(shared_->texts[at], mine.data(), mine.size());
  shared_->bytes[at] = static_cast<std::uint32_t>(mine.size());
  barrier();
  std::vector<std::string> all;
  for (std::size_t i = 0; i < static_cast<std::size_t>(members_); ++i) {
    all.emplace_back(shared_->texts[i], shared_->bytes[i]);
  }
  barrier();  // nobody publishes anew before everybody has read
  return all;
}

}  // namespace stria::bench
