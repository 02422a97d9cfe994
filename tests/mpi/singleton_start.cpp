// A program started without mpirun: alone in its world, it sends to itself, runs collectives and dups
// communicators.
#include <vector>

#include "tests/mpi/harness.hpp"

using namespace mpitest;

int main(int argc, char** argv) {
  Session session(argc, argv, "singleton_start");
  expect_equal(session.size, 1, "size of the world");
  for (MPI_Comm base : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(base, &comm);
    for (const std::uint64_t bytes : threshold_sizes()) {
      step(text("to self, ", bytes));
      std::vector<std::byte> out(bytes);
      Buffer in(bytes);
      MPI_Request request = MPI_REQUEST_NULL;
      fill(out.data(), bytes, bytes);
      MPI_Isend(out.data(), static_cast<int>(bytes), MPI_BYTE, 0, 1, comm, &request);
      MPI_Recv(in.data(), static_cast<int>(bytes), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
               MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      in.expect_message(bytes, bytes, "to self");
    }
    long value = 42;
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_LONG, MPI_SUM, comm);
    MPI_Bcast(&value, 1, MPI_LONG, 0, comm);
    MPI_Barrier(comm);
    expect_equal(value, 42L, "collectives of one");
    MPI_Comm_free(&comm);
  }
  return session.finish();
}
