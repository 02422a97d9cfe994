// Rank 1 is stopped for longer than a silent host is waited for (--stop-ms), in the middle of traffic: a part
// of a long message has come, and its system takes no more of it; short ones wait for it, and it has sent
// messages that rank 0 has not received yet. The host of a stopped rank answers, so the rank is alive: each
// message arrives once when rank 1 goes on.
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

constexpr int kMessages = 4000, kLongTag = kMessages;
constexpr int kShort = 9000, kLong = 16 << 20;

/// Stops this process, until another one that was started for that continues it.
void stop_for(double ms) {
  std::string shell = "sh", option = "-c",
              script = text("sleep ", ms / 1000, "; while kill -CONT ", getpid(),
                            "; do sleep 1; done 2>/dev/null");
  char* const arguments[] = {shell.data(), option.data(), script.data(), nullptr};
  pid_t helper = -1;
  if (expect_equal(posix_spawn(&helper, "/bin/sh", nullptr, nullptr, arguments, environ), 0, "posix_spawn"))
    raise(SIGSTOP);
}

std::uint64_t pattern_of(int rank, int tag) {
  return static_cast<std::uint64_t>(kLong * rank + tag);
}

struct Message {
  explicit Message(int rank, int number) : data(number == kLongTag ? kLong : kShort), tag(number) {
    fill(data.data(), data.size(), pattern_of(rank, tag));
  }
  void send(int to) {
    MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
  }
  std::vector<std::byte> data;
  int tag;
  MPI_Request request = MPI_REQUEST_NULL;
};

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "stopped_rank");
  if (!expect_equal(session.size, 2, "ranks")) return session.finish();
  const double stop_ms = std::stod(session.options.get("stop-ms", "3500"));
  const int other = 1 - session.rank;
  std::vector<Message> out;
  for (int tag = 0; tag <= kLongTag; ++tag) out.emplace_back(session.rank, tag);
  const Message first(other, kLongTag);
  Buffer in(kShort), long_one(kLong);
  long_one.data()[kShort] = ~first.data[kShort];  // by this byte it is seen that a part has come
  MPI_Request coming = MPI_REQUEST_NULL;
  MPI_Irecv(long_one.data(), kLong, MPI_BYTE, other, kLongTag, MPI_COMM_WORLD, &coming);
  MPI_Barrier(MPI_COMM_WORLD);

  step("sends");
  const double begun = MPI_Wtime();
  out[kLongTag].send(other);
  if (session.rank == 1) {
    int ended = 0;
    while (ended == 0 && long_one.data()[kShort] != first.data[kShort])
      MPI_Test(&coming, &ended, MPI_STATUS_IGNORE);
    expect_equal(ended, 0, "whether the long message has ended");
  }
  for (int tag = 0; tag < kMessages; ++tag) {
    out[static_cast<std::size_t>(tag)].send(other);
    if (session.rank == 1 && tag == kMessages / 2) stop_for(stop_ms);
  }
  step("receives");
  for (int tag = 0; tag < kMessages; ++tag) {
    MPI_Recv(in.data(), kShort, MPI_BYTE, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    in.expect_message(kShort, pattern_of(other, tag), text("message ", tag));
  }
  MPI_Wait(&coming, MPI_STATUS_IGNORE);
  long_one.expect_message(kLong, pattern_of(other, kLongTag), "the long message");
  for (Message& message : out) MPI_Wait(&message.request, MPI_STATUS_IGNORE);
  expect((MPI_Wtime() - begun) * 1000 >= stop_ms, "the rank was stopped for as long as it was to be");
  MPI_Barrier(MPI_COMM_WORLD);
  return session.finish();
}
