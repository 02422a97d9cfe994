// Communicators: thousands made and freed (context ids come back), split and grouped ones, intercommunicators
// with point-to-point and collective traffic, Cartesian neighbours. Traffic on one is never seen on another.
//   --cycles=N   how many times a communicator is made and freed (default 5000)
#include <algorithm>
#include <vector>

#include "tests/mpi/harness.hpp"

namespace {

using namespace mpitest;

constexpr std::size_t kAnnounced = 70000;  // beyond any eager limit: a rendezvous

// A ring of one message; sent on `comm`, expected only there.
void ring(MPI_Comm comm, std::size_t bytes, std::uint64_t key, const char* what) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::vector<std::byte> out(bytes);
  Buffer in(bytes);
  const int left = (rank + size - 1) % size;
  fill(out.data(), bytes, key + static_cast<std::uint64_t>(rank));
  MPI_Sendrecv(out.data(), static_cast<int>(bytes), MPI_BYTE, (rank + 1) % size, 3, in.data(),
               static_cast<int>(bytes), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
  in.expect_message(bytes, key + static_cast<std::uint64_t>(left), what);
}

void made_and_freed(const Session& session, std::uint64_t cycles) {
  for (std::uint64_t i = 0; i < cycles && failures() == 0; ++i) {
    step(text("dup and free, cycle ", i));
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (i % 3 == 0) ring(comm, i % 50 == 0 ? kAnnounced : 100, i, "on a fresh communicator");
    MPI_Comm_free(&comm);
  }
  // A message waits unexpected on one communicator while others with new context ids come and go.
  step("an early message on an old communicator");
  MPI_Comm old = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &old);
  const int right = (session.rank + 1) % session.size;
  const int left = (session.rank + session.size - 1) % session.size;
  const int mine = session.rank;
  MPI_Send(&mine, 1, MPI_INT, right, 1, old);
  for (int i = 0; i < 50; ++i) {
    MPI_Comm young = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &young);
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 1, young, &found, MPI_STATUS_IGNORE);
    expect(found == 0, "a message crossed over to a young communicator");
    ring(young, 5000, 77, "beside an early message");
    MPI_Comm_free(&young);
  }
  int value = -1;
  MPI_Recv(&value, 1, MPI_INT, left, 1, old, MPI_STATUS_IGNORE);
  expect_equal(value, left, "the early message");
  MPI_Comm_free(&old);
}

// Many at once, with messages sent on all of them and received in the reverse order.
void many_at_once(const Session& session) {
  step("many communicators at once");
  constexpr std::size_t kMany = 200;
  std::vector<MPI_Comm> comms(kMany);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int right = (session.rank + 1) % session.size;
  const int left = (session.rank + session.size - 1) % session.size;
  std::vector<int> out(kMany);
  std::vector<MPI_Request> requests(kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    out[i] = session.rank * 1000 + static_cast<int>(i);
    MPI_Isend(&out[i], 1, MPI_INT, right, 0, comms[i], &requests[i]);
  }
  for (std::size_t i = kMany; i-- > 0;) {
    int value = -1;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i], MPI_STATUS_IGNORE);
    expect_equal(value, left * 1000 + static_cast<int>(i), "the message of this communicator");
  }
  MPI_Waitall(kMany, requests.data(), MPI_STATUSES_IGNORE);
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

void split_and_groups(const Session& session) {
  step("split with reversed ranks");
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -session.rank, &reversed);
  ring(reversed, 9000, 1, "reversed");
  MPI_Comm_free(&reversed);
  step("split in odd and even, one rank left out");
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, session.size > 2 && session.rank == 0 ? MPI_UNDEFINED : session.rank % 2,
                 session.rank, &half);
  if (half != MPI_COMM_NULL) {
    ring(half, 100000, 2, "half");
    MPI_Comm_free(&half);
  }
  step("a group without the last rank");
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group part = MPI_GROUP_NULL;
  const int last = session.size - 1;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_excl(world, 1, &last, &part);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_create(MPI_COMM_WORLD, part, &comm);
  expect((comm == MPI_COMM_NULL) == (session.rank == last), "membership");
  if (comm != MPI_COMM_NULL) {
    ring(comm, 300, 3, "group");
    MPI_Comm_free(&comm);
  }
  if (session.rank != last) {
    MPI_Comm_create_group(MPI_COMM_WORLD, part, 5, &comm);
    ring(comm, 300, 4, "create_group");
    MPI_Comm_free(&comm);
  }
  MPI_Group_free(&part);
  MPI_Group_free(&world);
}

void intercommunicators(const Session& session) {
  step("intercommunicator");
  MPI_Comm half = MPI_COMM_NULL;
  const int side = session.rank % 2;
  MPI_Comm_split(MPI_COMM_WORLD, side, session.rank, &half);
  for (int cycle = 0; cycle < 20; ++cycle) {
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 40 + cycle, &inter);
    int local = 0;
    int remote = 0;
    MPI_Comm_rank(inter, &local);
    MPI_Comm_remote_size(inter, &remote);
    // Everyone to everyone on the other side.
    std::vector<std::vector<std::byte>> out(static_cast<std::size_t>(remote));
    std::vector<MPI_Request> requests(out.size());
    const std::size_t bytes = cycle % 2 == 0 ? 100 : kAnnounced;
    const auto key = [&](int from_side, int from, int to) {
      return static_cast<std::uint64_t>(((cycle * 2 + from_side) * 64 + from) * 64 + to);
    };
    for (int to = 0; to < remote; ++to) {
      auto& message = out[static_cast<std::size_t>(to)];
      message.resize(bytes);
      fill(message.data(), bytes, key(side, local, to));
      MPI_Isend(message.data(), static_cast<int>(bytes), MPI_BYTE, to, 1, inter,
                &requests[static_cast<std::size_t>(to)]);
    }
    for (int i = 0; i < remote; ++i) {
      Buffer in(bytes);
      MPI_Status status = {};
      MPI_Recv(in.data(), static_cast<int>(bytes), MPI_BYTE, cycle % 3 == 0 ? i : MPI_ANY_SOURCE, MPI_ANY_TAG,
               inter, &status);
      in.expect_message(bytes, key(1 - side, status.MPI_SOURCE, local), "across the intercommunicator");
    }
    MPI_Waitall(remote, requests.data(), MPI_STATUSES_IGNORE);
    MPI_Barrier(inter);
    long sum = session.rank;
    long theirs = 0;
    MPI_Allreduce(&sum, &theirs, 1, MPI_LONG, MPI_SUM, inter);
    long wanted = 0;
    for (int r = 1 - side; r < session.size; r += 2) wanted += r;
    expect_equal(theirs, wanted, "allreduce over the intercommunicator");
    int word = session.rank == 0 ? 4711 + cycle : 0;
    MPI_Bcast(&word, 1, MPI_INT, side == 0 ? (local == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, inter);
    if (side == 1) expect_equal(word, 4711 + cycle, "bcast over the intercommunicator");
    MPI_Comm merged = MPI_COMM_NULL;
    MPI_Intercomm_merge(inter, side, &merged);
    ring(merged, 2000, 9, "merged");
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
  }
  MPI_Comm_free(&half);
}

// A message that was matched is received although its communicator was freed meanwhile, and the receive
// writes to no memory of others: to see that, blocks of a communicator's size are taken in between.
void freed_while_a_message_is_held(const Session& session) {
  step("communicators freed between mprobe and mrecv");
  for (int round = 0; round < 20; ++round) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const std::size_t bytes = round % 2 == 0 ? 100 : kAnnounced;
    std::vector<std::byte> out(bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    fill(out.data(), bytes, static_cast<std::uint64_t>(round));
    if (session.rank == 0) MPI_Isend(out.data(), static_cast<int>(bytes), MPI_BYTE, 1, round, comm, &request);
    MPI_Message message = MPI_MESSAGE_NULL;
    if (session.rank == 1) MPI_Mprobe(0, round, comm, &message, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    if (session.rank == 1) {
      const std::vector<std::vector<std::byte>> others(64, std::vector<std::byte>(352));
      Buffer in(bytes);
      if (round % 3 == 0) {
        MPI_Imrecv(in.data(), static_cast<int>(bytes), MPI_BYTE, &message, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      } else {
        MPI_Mrecv(in.data(), static_cast<int>(bytes), MPI_BYTE, &message, MPI_STATUS_IGNORE);
      }
      in.expect_message(bytes, static_cast<std::uint64_t>(round), "a message of a freed communicator");
      for (const auto& other : others)
        expect(other == std::vector<std::byte>(352), "memory of others is as it was");
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

void cartesian(const Session& session) {
  step("Cartesian neighbours");
  int dims[2] = {0, 0};
  const int periods[2] = {1, 0};
  MPI_Dims_create(session.size, 2, dims);
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &cart);
  int rank = 0;
  MPI_Comm_rank(cart, &rank);
  for (int direction = 0; direction < 2; ++direction) {
    int from = 0;
    int to = 0;
    int value = -1;
    MPI_Cart_shift(cart, direction, 1, &from, &to);
    MPI_Sendrecv(&rank, 1, MPI_INT, to, 1, &value, 1, MPI_INT, from, 1, cart, MPI_STATUS_IGNORE);
    expect_equal(value, from == MPI_PROC_NULL ? -1 : from, "the neighbour's rank");
  }
  std::vector<int> around(4, -1);
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, around.data(), 1, MPI_INT, cart);
  for (int direction = 0; direction < 2; ++direction) {
    int from = 0;
    int to = 0;
    MPI_Cart_shift(cart, direction, 1, &from, &to);
    const auto d = static_cast<std::size_t>(2 * direction);
    expect(
        around[d] == (from == MPI_PROC_NULL ? -1 : from) && around[d + 1] == (to == MPI_PROC_NULL ? -1 : to),
        "neighbor_allgather");
  }
  MPI_Comm_free(&cart);
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "comms");
  if (session.size < 2) {
    expect(false, "needs 2 ranks or more");
    return session.finish();
  }
  made_and_freed(session, session.options.number("cycles", 5000));
  many_at_once(session);
  split_and_groups(session);
  intercommunicators(session);
  freed_while_a_message_is_held(session);
  cartesian(session);
  return session.finish();
}
