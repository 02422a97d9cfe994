// A job on one host spawns a process on another: over a layer that does not reach it, MPI_Comm_spawn gives an
// error in bounded time, and the parent's own communicators work until the launcher ends the job because of
// the child; over any other layer the two talk. The program is its own child.
//   --host=NAME         where the child shall run
//   --reachable=0|1     whether the layer reaches that host (default 0)
#include <cstdio>

#include "tests/mpi/harness.hpp"

using namespace mpitest;

int main(int argc, char** argv) {
  Session session(argc, argv, "spawn_elsewhere");
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  int value = session.rank + 7;
  if (parent != MPI_COMM_NULL) {
    MPI_Send(&value, 1, MPI_INT, 0, 1, parent);
    MPI_Comm_disconnect(&parent);
    return session.finish();
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const std::string host = session.options.get("host", "localhost");
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "host", host.c_str());
  MPI_Comm inter = MPI_COMM_NULL;
  int child_error = MPI_SUCCESS;
  step("MPI_Comm_spawn");
  const int answer = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &inter, &child_error);
  MPI_Info_free(&info);
  if (session.options.number("reachable", 0) != 0) {
    if (expect_equal(answer, MPI_SUCCESS, "MPI_Comm_spawn")) {
      MPI_Recv(&value, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);
      expect_equal(value, 7, "the child's word");
      MPI_Comm_disconnect(&inter);
    }
    return session.finish();
  }
  if (expect(answer != MPI_SUCCESS, "MPI_Comm_spawn reached a host the layer does not reach")) {
    char words[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(answer, words, &length);
    std::printf("spawn_elsewhere: MPI_Comm_spawn gave %d: %s\n", answer, words);
    std::fflush(stdout);
  }
  int sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(sum >= value, "allreduce after the refused spawn");
  return session.finish();
}
