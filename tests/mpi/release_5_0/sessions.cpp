// Sessions, as MPI 4 has them: several cycles in one process, communicators made from groups, whose index
// differs from rank to rank, two of them with the same tags under way at a time, and MPI_Init after all of
// it.
#include <unistd.h>

#include <vector>

#include "tests/mpi/harness.hpp"

using namespace mpitest;

namespace {

MPI_Comm from_group(MPI_Session session, const char* set, const char* tag) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  expect_equal(MPI_Group_from_session_pset(session, set, &group), MPI_SUCCESS, "group of the process set");
  expect_equal(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm), MPI_SUCCESS,
               "communicator of the group");
  MPI_Group_free(&group);
  return comm;
}

/// Each rank sends to the next one by all of them before it receives: a message of one communicator that
/// ended in another would have the other's pattern.
void exchange(const std::vector<MPI_Comm>& comms, std::uint64_t bytes) {
  std::vector<std::vector<std::byte>> out(comms.size(), std::vector<std::byte>(bytes));
  std::vector<MPI_Request> sends(comms.size(), MPI_REQUEST_NULL);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comms[0], &rank);
  MPI_Comm_size(comms[0], &size);
  const auto key = [&](std::size_t comm, int from) {
    return bytes * 100 + comm * 10 + static_cast<unsigned>(from);
  };
  for (std::size_t i = 0; i < comms.size(); ++i) {
    fill(out[i].data(), bytes, key(i, rank));
    expect_equal(MPI_Isend(out[i].data(), static_cast<int>(bytes), MPI_BYTE, (rank + 1) % size, 7, comms[i],
                           &sends[i]),
                 MPI_SUCCESS, "a send");
  }
  const int before = (rank + size - 1) % size;
  for (std::size_t i = comms.size(); i-- > 0;) {
    Buffer in(bytes);
    MPI_Status status;
    MPI_Recv(in.data(), static_cast<int>(bytes), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i], &status);
    in.expect_message(bytes, key(i, before), "from the rank before");
    expect_equal(status.MPI_SOURCE, before, "source");
  }
  MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
}

/// Open MPI 5.0.7 with PMIx 5.0.7 can hang in MPI_Session_init, under every layer, where one process begins a
/// session while the launcher is still told that another has ended its own (openpmix issues 3931 and 4113).
void let_all_leave() {
  constexpr unsigned kMicroseconds = 250'000;
  usleep(kMicroseconds);
}

void cycle(int turn) {
  MPI_Session session = MPI_SESSION_NULL;
  step(text("session ", turn));
  if (!expect_equal(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), MPI_SUCCESS, "a session"))
    return;
  MPI_Comm world = from_group(session, "mpi://WORLD", text("world", turn).c_str());
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  // So many communicators of its own give every rank another index for those that follow.
  std::vector<MPI_Comm> own;
  for (int i = 0; i < 3 * rank; ++i) own.push_back(from_group(session, "mpi://SELF", text("own", i).c_str()));
  std::vector<MPI_Comm> comms{world, from_group(session, "mpi://WORLD", text("second", turn).c_str()),
                              MPI_COMM_NULL};
  MPI_Comm_dup(comms[1], &comms[2]);
  for (const std::uint64_t bytes : threshold_sizes()) {
    step(text("session ", turn, ", ", bytes, " bytes"));
    exchange(comms, bytes);
  }
  for (MPI_Comm& comm : comms) {
    int sum = 1;
    int size = 0;
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm);
    expect_equal(sum, size, "allreduce");
    MPI_Comm_free(&comm);
  }
  for (MPI_Comm& comm : own) MPI_Comm_free(&comm);
  expect_equal(MPI_Session_finalize(&session), MPI_SUCCESS, "end of the session");
  let_all_leave();
}

}  // namespace

int main(int argc, char** argv) {
  for (int turn = 0; turn < 3; ++turn) cycle(turn);
  Session after(argc, argv, "sessions");
  exchange({MPI_COMM_WORLD}, 5000);
  return after.finish();
}
