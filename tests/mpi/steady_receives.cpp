// A rank that does nothing but receive, and finds a message whenever it looks, lets its non-blocking
// collective go on: the other rank is in it, and sends until it is over there. That each message is there
// before its receive, however the cores are shared, the receiver sees in a count of them in shared memory.
//   --how=irecv|sendrecv   MPI_Irecv and MPI_Wait, or MPI_Sendrecv that sends to nobody
#include <atomic>
#include <cstdio>
#include <thread>

#include "tests/mpi/harness.hpp"

using namespace mpitest;

namespace {

constexpr int kTag = 5;
constexpr int kGo = 1;
constexpr int kStop = 2;
// A collective takes two steps, each after a few hundred receives and what is buffered between the two ranks.
constexpr long kMostSends = 10000;

// The sender is at most so many ahead, so that it never waits in MPI_Send.
constexpr long kAhead = 32;

/// How many messages were sent, and how many received, in memory of both ranks.
class Counts {
 public:
  Counts() {
    MPI_Win_allocate_shared(2 * sizeof *counts_, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &counts_, &win_);
    MPI_Aint bytes = 0;
    int unit = 0;
    MPI_Win_shared_query(win_, 0, &bytes, &unit, &counts_);
  }
  Counts(const Counts&) = delete;
  ~Counts() { MPI_Win_free(&win_); }
  std::atomic_ref<long> sent() const { return std::atomic_ref(counts_[0]); }
  std::atomic_ref<long> received() const { return std::atomic_ref(counts_[1]); }

 private:
  long* counts_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
};

struct Sum {
  int mine;
  int all = 0;
};

void begin(Sum& sum, MPI_Request& collective) {
  MPI_Iallreduce(&sum.mine, &sum.all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &collective);
}

/// Receives until it is told to stop. Calls nothing else of MPI.
void receive(const Counts& counts, bool by_sendrecv) {
  int word = kGo;
  for (long received = 0; word == kGo; counts.received().store(++received)) {
    while (counts.sent().load() == received) std::this_thread::yield();
    if (by_sendrecv) {
      MPI_Sendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, kTag, &word, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Irecv(&word, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
}

/// Sends until the collective is over here, which needs all of its steps at the other side. Begins it when
/// the first messages were received, so that the receiver is in its steady state and its own call long over.
long send(const Counts& counts, MPI_Request& collective, Sum& sum) {
  long sent = 0;
  for (int word = kGo; word == kGo; counts.sent().store(++sent)) {
    while (sent - counts.received().load() >= (sent == kAhead ? 1 : kAhead)) std::this_thread::yield();
    if (sent == kAhead) begin(sum, collective);
    int over = 0;
    if (sent >= kAhead) MPI_Test(&collective, &over, MPI_STATUS_IGNORE);
    if (over != 0 || sent + 1 == kMostSends) word = kStop;
    MPI_Send(&word, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD);
  }
  return sent;
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "steady_receives");
  const bool by_sendrecv = session.options.get("how", "irecv") == "sendrecv";
  for (int i = 0; i < 12; ++i) {
    step(text("collective ", i));
    const Counts counts;
    if (session.rank == 0) {
      counts.sent().store(0);
      counts.received().store(0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    Sum sum{session.rank + 1};
    MPI_Request collective = MPI_REQUEST_NULL;
    if (session.rank == 0) {
      begin(sum, collective);
      receive(counts, by_sendrecv);
    } else {
      const long sent = send(counts, collective, sum);
      std::printf("%ld sends\n", sent);
      expect(sent < kMostSends, "a collective goes on every few hundred receives");
    }
    MPI_Wait(&collective, MPI_STATUS_IGNORE);
    expect_equal(sum.all, 3, "the sum");
  }
  return session.finish();
}
