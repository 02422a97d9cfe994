// One process that sends itself `count` messages of `bytes` in windows of 32, receives first: what it
// executes depends on nothing but its arguments, so its instructions can be counted.
//   self_messages COUNT BYTES
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) {
    std::fprintf(stderr, "usage: self_messages COUNT BYTES\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  constexpr int kWindow = 32;
  const int windows = std::atoi(argv[1]) / kWindow;
  const int bytes = std::atoi(argv[2]);
  std::vector<char> from(static_cast<std::size_t>(bytes), 3), to(static_cast<std::size_t>(bytes) * kWindow);
  std::array<MPI_Request, 2 * kWindow> requests;
  for (int round = 0; round < windows; ++round) {
    for (int i = 0; i < kWindow; ++i) {
      const auto at = static_cast<std::size_t>(i);
      MPI_Irecv(&to[at * static_cast<std::size_t>(bytes)], bytes, MPI_BYTE, 0, 7, MPI_COMM_WORLD,
                &requests[at]);
    }
    for (int i = 0; i < kWindow; ++i)
      MPI_Isend(from.data(), bytes, MPI_BYTE, 0, 7, MPI_COMM_WORLD,
                &requests[static_cast<std::size_t>(kWindow + i)]);
    MPI_Waitall(2 * kWindow, requests.data(), MPI_STATUSES_IGNORE);
  }
  bool right = true;
  for (const char byte : to) right = right && byte == 3;
  MPI_Finalize();
  return right ? 0 : 1;
}
