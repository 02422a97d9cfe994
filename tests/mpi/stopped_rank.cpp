// Rank 1 is stopped for longer than a silent host is waited for (--stop-ms), in the middle of traffic: more
// waits for it than the system takes, and it has sent what nobody has received. Its host answers, so it is
// alive: when it goes on, every message comes, once and in order.
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/mpi/harness.hpp"

extern char** environ;

using namespace mpitest;

namespace {

constexpr int kMessages = 300;
constexpr std::size_t kShort = 60000, kLong = 16U << 20;

/// Stops this process, until another one that was started for that continues it.
void stop_for(double ms) {
  const std::string command = text("sleep ", ms / 1000, "; kill -CONT ", getpid());
  std::string shell = "sh", option = "-c", script = command;
  char* const arguments[] = {shell.data(), option.data(), script.data(), nullptr};
  pid_t helper = -1;
  if (!expect_equal(posix_spawn(&helper, "/bin/sh", nullptr, nullptr, arguments, environ), 0, "posix_spawn"))
    return;
  raise(SIGSTOP);
}

std::uint64_t pattern_of(int rank, int message) {
  return static_cast<std::uint64_t>(1000 * rank + message);
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "stopped_rank");
  if (!expect_equal(session.size, 2, "ranks")) return session.finish();
  const double stop_ms = std::stod(session.options.get("stop-ms", "2500"));
  const int other = 1 - session.rank;
  std::vector<std::vector<std::byte>> out(kMessages + 1);
  std::vector<MPI_Request> sends(kMessages + 1);
  step("sends");
  for (int i = 0; i <= kMessages; ++i) {
    const std::size_t bytes = i < kMessages ? kShort : kLong;
    out[static_cast<std::size_t>(i)].resize(bytes);
    fill(out[static_cast<std::size_t>(i)].data(), bytes, pattern_of(session.rank, i));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  for (int i = 0; i <= kMessages; ++i) {
    const auto& data = out[static_cast<std::size_t>(i)];
    MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, other, i, MPI_COMM_WORLD,
              &sends[static_cast<std::size_t>(i)]);
    if (session.rank == 1 && i == kMessages / 2) stop_for(stop_ms);
  }
  step("receives");
  Buffer in(kLong);
  for (int i = 0; i <= kMessages; ++i) {
    const std::size_t bytes = i < kMessages ? kShort : kLong;
    MPI_Recv(in.data(), static_cast<int>(kLong), MPI_BYTE, other, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    in.expect_message(bytes, pattern_of(other, i), text("message ", i));
  }
  MPI_Waitall(kMessages + 1, sends.data(), MPI_STATUSES_IGNORE);
  expect((MPI_Wtime() - begun) * 1000 >= stop_ms, "the rank was not stopped for as long as it was to be");
  MPI_Barrier(MPI_COMM_WORLD);
  return session.finish();
}
