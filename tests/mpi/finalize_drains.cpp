// What is under way when a rank enters MPI_Finalize: messages whose requests were freed arrive although their
// sender is in MPI_Finalize already; and messages that nobody ever receives hold up nobody.
//   --unread=1   the receiver leaves them all: eager, buffered, announced
//   --freed=N    both leave as much in N communicators, which they free before
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

#include "tests/mpi/harness.hpp"

namespace {

using namespace mpitest;

constexpr std::array<int, 4> kSizes = {0, 100, 30000, 6 << 20};

void send_and_forget(std::vector<std::vector<std::byte>>& memory) {
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    memory.emplace_back(static_cast<std::size_t>(kSizes[i]));
    fill(memory[i].data(), memory[i].size(), i + 1);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(memory[i].data(), kSizes[i], MPI_BYTE, 1, static_cast<int>(i), MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  }
}

void receive_late() {
  usleep(500000);  // the sender has long been in MPI_Finalize
  for (std::size_t i = kSizes.size(); i-- > 0;) {
    const auto bytes = static_cast<std::size_t>(kSizes[i]);
    Buffer in(bytes);
    step(text("receiving ", bytes, " bytes"));
    MPI_Recv(in.data(), kSizes[i], MPI_BYTE, 0, static_cast<int>(i), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    in.expect_message(bytes, i + 1, text(bytes, " bytes of a sender in MPI_Finalize"));
  }
}

/// Until they are all in the unexpected queue.
void leave_unread() {
  for (std::size_t i = 0; i < kSizes.size(); ++i)
    MPI_Probe(0, static_cast<int>(i), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// Its communicator lives, unseen, until the sends end; each side's wait for what the other left.
void leave_in_freed_communicators(int communicators, std::vector<std::vector<std::byte>>& memory) {
  memory.emplace_back(std::size_t{100000});
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < communicators; ++i) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int tag = 0; tag <= i % 8; ++tag) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Isend(memory.back().data(), static_cast<int>(memory.back().size()), MPI_BYTE, 1 - rank, tag, comm,
                &request);
      MPI_Request_free(&request);
    }
    MPI_Comm_free(&comm);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  ::setenv("STRIA_CLOSE_TIMEOUT_MS", "60000", 1);
  Session session(argc, argv, "finalize_drains");
  std::vector<std::vector<std::byte>> memory;  // freed after MPI_Finalize
  const auto freed = static_cast<int>(session.options.number("freed", 0));
  if (freed > 0)
    leave_in_freed_communicators(freed, memory);
  else if (session.rank == 0)
    send_and_forget(memory);
  else if (session.options.number("unread", 0) != 0)
    leave_unread();
  else
    receive_late();
  // MPI_Finalize does not wait for a receive that never comes, which would take STRIA_CLOSE_TIMEOUT_MS.
  const auto begin = std::chrono::steady_clock::now();
  const int code = session.finish();
  const auto took = std::chrono::steady_clock::now() - begin;
  if (took < std::chrono::seconds(40)) return code;
  std::fprintf(stderr, "finalize_drains: rank %d: FAILED: MPI_Finalize waited\n", session.rank);
  return 1;
}
