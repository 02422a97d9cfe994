// A rank that does nothing but send and receive, and never waits long for either, lets its non-blocking
// collective go on: the others are in it, and end the ping-pong only afterwards.
#include <cstdio>

#include "tests/mpi/harness.hpp"

using namespace mpitest;

namespace {

constexpr int kGo = 1;
constexpr int kStop = 2;
constexpr int kCollectives = 20;

/// Answers until it is told to stop. Calls nothing else of MPI.
void answer() {
  for (int word = kGo; word == kGo;) {
    MPI_Recv(&word, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&word, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
  }
}

/// Asks until the collective is over here, which needs all of its steps at the other side.
long ask(MPI_Request& collective) {
  long rounds = 0;
  for (int over = 0; over == 0; ++rounds) {
    MPI_Test(&collective, &over, MPI_STATUS_IGNORE);
    const int word = over != 0 ? kStop : kGo;
    int back = 0;
    MPI_Send(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    MPI_Recv(&back, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_equal(back, word, "the echo");
  }
  return rounds;
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "steady_pingpong");
  long rounds = 0;
  for (int i = 0; i < kCollectives; ++i) {
    step(text("collective ", i));
    // Several steps of it depend on one another.
    int mine = session.rank + 1;
    int sum = 0;
    MPI_Request collective = MPI_REQUEST_NULL;
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &collective);
    if (session.rank == 0)
      answer();
    else
      rounds += ask(collective);
    MPI_Wait(&collective, MPI_STATUS_IGNORE);
    expect_equal(sum, 3, "the sum");
  }
  if (session.rank == 1) {
    std::printf("%ld exchanges\n", rounds);
    expect(rounds < kCollectives * 2000, "a collective goes on every few hundred receives");
  }
  return session.finish();
}
