// A job that ends badly on purpose, in the middle of traffic; fault_check judges how it ends.
//   --how=abort|kill|exit|cut   rank 1 calls MPI_Abort(7), kills itself with SIGKILL, or leaves without
//   MPI_Finalize; cut: it does nothing, and the network is cut from outside
//   --when=eager|rendezvous|idle   what the others are doing
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "tests/mpi/harness.hpp"

using namespace mpitest;

namespace {

void end_badly(const std::string& how) {
  std::fprintf(stderr, "fault_victim: rank 1 ends by %s\n", how.c_str());
  if (how == "abort") MPI_Abort(MPI_COMM_WORLD, 7);
  if (how == "kill") kill(getpid(), SIGKILL);
  _exit(5);
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "fault_victim");
  const std::string how = session.options.get("how", "kill");
  const std::string when = session.options.get("when", "eager");
  const std::size_t bytes = when == "rendezvous" ? 4U << 20 : 512;
  std::vector<std::byte> out(bytes);
  Buffer in(bytes);
  fill(out.data(), bytes, 9);
  const int right = (session.rank + 1) % session.size;
  const int left = (session.rank + session.size - 1) % session.size;
  for (int round = 0;; ++round) {
    MPI_Request requests[2];
    MPI_Irecv(in.data(), static_cast<int>(bytes), MPI_BYTE, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out.data(), static_cast<int>(bytes), MPI_BYTE, right, 0, MPI_COMM_WORLD, &requests[1]);
    if (session.rank == 1 && round == 40 && how != "cut")
      end_badly(how);  // with a receive posted and a send under way
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    in.expect_message(bytes, 9, text("round ", round));
    if (when == "idle" && round == 39) {
      if (session.rank == 1) end_badly(how);
      MPI_Recv(in.data(), 1, MPI_BYTE, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // never sent
    }
  }
}
