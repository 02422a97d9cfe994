// Partitioned communication, as MPI 4 has it: partitions of a message become ready in any order, and arrive.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/mpi/harness.hpp"

using namespace mpitest;

namespace {

constexpr int kPartitions = 8;

void rounds_of(std::uint64_t bytes, Session& session) {
  const int other = 1 - session.rank;
  Rng rng(session.seed + bytes);
  std::vector<std::byte> out(bytes * kPartitions);
  Buffer in(bytes * kPartitions);
  MPI_Request sent = MPI_REQUEST_NULL;
  MPI_Request received = MPI_REQUEST_NULL;
  const auto count = static_cast<MPI_Count>(bytes);
  MPI_Psend_init(out.data(), kPartitions, count, MPI_BYTE, other, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &sent);
  MPI_Precv_init(in.data(), kPartitions, count, MPI_BYTE, other, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &received);
  for (std::uint64_t round = 0; round < 5; ++round) {
    step(text(bytes, " bytes a partition, round ", round));
    const auto key = [&](int rank) { return bytes * 1000 + round * 10 + static_cast<unsigned>(rank); };
    fill(out.data(), out.size(), key(session.rank));
    in.reset();
    MPI_Start(&received);
    MPI_Start(&sent);
    std::vector<int> order(kPartitions);
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    for (const int partition : order) MPI_Pready(partition, sent);
    for (int partition = 0; partition < kPartitions; ++partition) {
      const double deadline = now_seconds() + 30;
      int arrived = 0;
      while (!arrived && now_seconds() < deadline) MPI_Parrived(received, partition, &arrived);
      if (!expect(arrived, text("partition ", partition, " arrives"))) return;
      const auto first = static_cast<std::size_t>(partition) * bytes;
      expect_equal(first_wrong(in.data() + first, bytes, key(other), first), bytes, "bytes of the partition");
    }
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Wait(&received, MPI_STATUS_IGNORE);
    in.expect_message(in.size(), key(other), "the whole message");
  }
  MPI_Request_free(&sent);
  MPI_Request_free(&received);
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "partitioned");
  for (const std::uint64_t bytes : {8, 1000, 8192, 100000}) rounds_of(bytes, session);
  return session.finish();
}
