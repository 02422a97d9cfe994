/* Around the parts of docs/user-mpi.md: a job of one process. */
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  void* buffer;
  const MPI_Aint bytes = 1 << 20;
  {
    // BLOCK
  }
  return MPI_Finalize();
}
