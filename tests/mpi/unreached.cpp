// Two ranks that the layer does not reach from each other, which MPI_Init could not know: each operation that
// names the other one ends with an error, on both sides, and the program goes on.
#include <cstdio>
#include <functional>
#include <string>

#include "tests/mpi/harness.hpp"

using namespace mpitest;

namespace {

/// `start` may answer the error, or what it starts may end with it.
void expect_refused(const char* what, const std::function<int(MPI_Request*)>& start) {
  step(what);
  MPI_Request request = MPI_REQUEST_NULL;
  int answer = start(&request);
  if (answer == MPI_SUCCESS && request != MPI_REQUEST_NULL) answer = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (!expect(answer != MPI_SUCCESS, text(what, " reached a rank that the layer does not reach"))) return;
  int error_class = MPI_SUCCESS;
  MPI_Error_class(answer, &error_class);
  std::printf("unreached: %s gave class %d\n", what, error_class);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "unreached");
  if (!expect_equal(session.size, 2, "ranks")) return session.finish();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int other = 1 - session.rank;
  int word = session.rank;
  int flag = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  for (int round = 0; round < 2; ++round) {
    expect_refused("MPI_Recv", [&](MPI_Request*) {
      return MPI_Recv(&word, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &status);
    });
    expect_refused("MPI_Irecv", [&](MPI_Request* request) {
      return MPI_Irecv(&word, 1, MPI_INT, other, 0, MPI_COMM_WORLD, request);
    });
    expect_refused("MPI_Probe", [&](MPI_Request*) { return MPI_Probe(other, 0, MPI_COMM_WORLD, &status); });
    expect_refused("MPI_Iprobe",
                   [&](MPI_Request*) { return MPI_Iprobe(other, 0, MPI_COMM_WORLD, &flag, &status); });
    expect_refused("MPI_Mprobe",
                   [&](MPI_Request*) { return MPI_Mprobe(other, 0, MPI_COMM_WORLD, &message, &status); });
    expect_refused("MPI_Send",
                   [&](MPI_Request*) { return MPI_Send(&word, 1, MPI_INT, other, 0, MPI_COMM_WORLD); });
    expect_refused("MPI_Isend", [&](MPI_Request* request) {
      return MPI_Isend(&word, 1, MPI_INT, other, 0, MPI_COMM_WORLD, request);
    });
    expect_refused("MPI_Ssend",
                   [&](MPI_Request*) { return MPI_Ssend(&word, 1, MPI_INT, other, 0, MPI_COMM_WORLD); });
    expect_refused("MPI_Sendrecv", [&](MPI_Request*) {
      int in = 0;
      return MPI_Sendrecv(&word, 1, MPI_INT, other, 0, &in, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &status);
    });
    expect_refused("MPI_Bcast",
                   [&](MPI_Request*) { return MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD); });
    expect_refused("MPI_Barrier", [&](MPI_Request*) { return MPI_Barrier(MPI_COMM_WORLD); });
  }
  // The rank itself is reached.
  int in = -1;
  MPI_Sendrecv(&word, 1, MPI_INT, session.rank, 0, &in, 1, MPI_INT, session.rank, 0, MPI_COMM_WORLD, &status);
  expect_equal(in, word, "a message to the rank itself");
  return session.finish();
}
