// MPI_THREAD_MULTIPLE: several threads of each rank at once, each pair of threads on a communicator of its
// own and all together on a shared one where only tags tell them apart; sizes from nothing to rendezvous,
// blocking, non-blocking, probed and collective.
//   --threads=N (default 4)  --rounds=N (default 150)
#include <algorithm>
#include <thread>
#include <vector>

#include "tests/mpi/harness.hpp"

namespace {

using namespace mpitest;

struct Lane {
  int thread;
  int rank;
  int size;
  std::uint64_t seed;
  int rounds;
};

std::uint64_t key_of(int from, int thread, int round) {
  return mix(static_cast<std::uint64_t>(from) * 1000003 + static_cast<std::uint64_t>(thread) * 10007 +
             static_cast<std::uint64_t>(round));
}

// Each round: a ring exchange whose size and calls are drawn alike on all ranks. `tag` belongs to this
// thread.
void ring(const Lane& lane, MPI_Comm comm, int tag) {
  const std::vector<std::uint64_t> sizes{0, 1, 8, 64, 1000, 4096, 8193, 40000, 70001, 300000};
  Rng rng(lane.seed + static_cast<std::uint64_t>(lane.thread));
  const int right = (lane.rank + 1) % lane.size;
  const int left = (lane.rank + lane.size - 1) % lane.size;
  Buffer in(sizes.back());
  std::vector<std::byte> out(sizes.back());
  for (int round = 0; round < lane.rounds && failures() < 20; ++round) {
    const std::uint64_t bytes = sizes[rng.below(rng.chance(80) ? sizes.size() - 3 : sizes.size())];
    const int count = static_cast<int>(bytes);
    const std::uint64_t kind = rng.below(5);
    in.reset();
    fill(out.data(), bytes, key_of(lane.rank, lane.thread, round));
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2] = {};
    MPI_Message message = MPI_MESSAGE_NULL;
    switch (kind) {
      case 0:
        MPI_Sendrecv(out.data(), count, MPI_BYTE, right, tag, in.data(), static_cast<int>(in.size()),
                     MPI_BYTE, left, tag, comm, &statuses[0]);
        break;
      case 1:
        MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, MPI_ANY_SOURCE, tag, comm, &requests[0]);
        MPI_Issend(out.data(), count, MPI_BYTE, right, tag, comm, &requests[1]);
        MPI_Waitall(2, requests, statuses);
        break;
      case 2:
        MPI_Isend(out.data(), count, MPI_BYTE, right, tag, comm, &requests[1]);
        MPI_Mprobe(left, tag, comm, &message, &statuses[0]);
        MPI_Mrecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, &message, &statuses[0]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        break;
      case 3:
        MPI_Isend(out.data(), count, MPI_BYTE, right, tag, comm, &requests[1]);
        for (int found = 0; found == 0; std::this_thread::yield()) {
          MPI_Improbe(MPI_ANY_SOURCE, tag, comm, &found, &message, &statuses[0]);
        }
        MPI_Imrecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, &message, &requests[0]);
        MPI_Wait(&requests[0], &statuses[0]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        break;
      default:
        MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, left, tag, comm, &requests[0]);
        MPI_Isend(out.data(), count, MPI_BYTE, right, tag, comm, &requests[1]);
        for (int done = 0; done == 0; std::this_thread::yield()) MPI_Testall(2, requests, &done, statuses);
        break;
    }
    int got = -1;
    MPI_Get_count(&statuses[0], MPI_BYTE, &got);
    expect(got == count && statuses[0].MPI_SOURCE == left && statuses[0].MPI_TAG == tag,
           text("thread ", lane.thread, " round ", round, " kind ", kind, ": status ", got, " bytes from ",
                statuses[0].MPI_SOURCE, " tag ", statuses[0].MPI_TAG));
    in.expect_message(bytes, key_of(left, lane.thread, round),
                      text("thread ", lane.thread, " round ", round, " kind ", kind, " bytes ", bytes));
  }
}

void collectives(const Lane& lane, MPI_Comm comm) {
  for (int round = 0; round < lane.rounds / 5 && failures() < 20; ++round) {
    std::vector<long> values(1 + static_cast<std::size_t>(round) * 7, lane.rank + round);
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_LONG, MPI_SUM, comm);
    const long wanted =
        static_cast<long>(lane.size) * (lane.size - 1) / 2 + static_cast<long>(lane.size) * round;
    expect(std::all_of(values.begin(), values.end(), [&](long v) { return v == wanted; }),
           text("thread ", lane.thread, " allreduce ", round));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "threads_multiple", MPI_THREAD_MULTIPLE);
  const int threads = static_cast<int>(session.options.number("threads", 4));
  const int rounds = static_cast<int>(session.options.number("rounds", 150));
  std::vector<MPI_Comm> own(static_cast<std::size_t>(threads));
  for (MPI_Comm& comm : own) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm shared = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &shared);

  step("threads in their rings");
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      const Lane lane{t, session.rank, session.size, session.seed, rounds};
      ring(lane, own[static_cast<std::size_t>(t)], 7);
      ring(lane, shared, 100 + t);
      collectives(lane, own[static_cast<std::size_t>(t)]);
    });
  }
  for (std::thread& thread : running) thread.join();
  for (MPI_Comm& comm : own) MPI_Comm_free(&comm);
  MPI_Comm_free(&shared);
  return session.finish();
}
