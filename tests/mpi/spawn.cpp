// Dynamic processes: MPI_Comm_spawn with traffic between parents and children, merged and apart; ports with
// accept and connect between two halves of one job; disconnect. The program is its own child.
//   --what=spawn|ports|both (default both)   --cycles=N (default 2)   --children=N (default 2)
#include <vector>

#include "tests/mpi/harness.hpp"

namespace {

using namespace mpitest;

std::uint64_t key_of(bool from_low, int from, int to, std::size_t bytes) {
  return mix((static_cast<std::uint64_t>(from) * 64 + static_cast<std::uint64_t>(to)) * 2 +
             (from_low ? 1 : 0)) +
         bytes;
}

// Every rank of one side exchanges with every rank of the other, at sizes of each protocol, expected and
// unexpected.
void across(MPI_Comm inter, bool low, const char* what) {
  int rank = 0;
  int remote = 0;
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_remote_size(inter, &remote);
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{8}, std::size_t{4000}, std::size_t{70000}, std::size_t{1500000}}) {
    step(text(what, ", ", bytes, " bytes"));
    for (int peer = 0; peer < remote; ++peer) {
      std::vector<std::byte> out(bytes);
      Buffer in(bytes);
      MPI_Request request = MPI_REQUEST_NULL;
      fill(out.data(), bytes, key_of(low, rank, peer, bytes));
      MPI_Issend(out.data(), static_cast<int>(bytes), MPI_BYTE, peer, 1, inter, &request);
      MPI_Probe(peer, 1, inter, MPI_STATUS_IGNORE);
      MPI_Recv(in.data(), static_cast<int>(bytes), MPI_BYTE, peer, 1, inter, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      in.expect_message(bytes, key_of(!low, peer, rank, bytes), what);
    }
  }
  long mine = low ? 1 : 100;
  long theirs = 0;
  MPI_Allreduce(&mine, &theirs, 1, MPI_LONG, MPI_SUM, inter);
  expect_equal(theirs, (low ? 100L : 1L) * remote, text(what, ": allreduce"));
  MPI_Comm merged = MPI_COMM_NULL;
  MPI_Intercomm_merge(inter, low ? 0 : 1, &merged);
  int size = 0;
  int place = 0;
  MPI_Comm_size(merged, &size);
  MPI_Comm_rank(merged, &place);
  std::vector<int> all(static_cast<std::size_t>(size));
  MPI_Allgather(&place, 1, MPI_INT, all.data(), 1, MPI_INT, merged);
  for (int i = 0; i < size; ++i) expect_equal(all[static_cast<std::size_t>(i)], i, text(what, ": merged"));
  MPI_Comm_free(&merged);
}

void spawn(const Session& session, char* program, int children) {
  std::string seed = text("--seed=", session.seed);
  char* arguments[] = {seed.data(), nullptr};
  std::vector<int> errors(static_cast<std::size_t>(children), -1);
  MPI_Comm inter = MPI_COMM_NULL;
  step("MPI_Comm_spawn");
  MPI_Comm_spawn(program, arguments, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, errors.data());
  for (const int error : errors) expect(session.rank != 0 || error == MPI_SUCCESS, "spawn error code");
  across(inter, true, "parent and child");
  // The children report their failures, as their exit codes may go unnoticed.
  std::uint64_t mine = 0;
  std::uint64_t theirs = 0;
  MPI_Allreduce(&mine, &theirs, 1, MPI_UINT64_T, MPI_SUM, inter);
  expect_equal(theirs, std::uint64_t{0}, "failures in the children");
  step("disconnect from the children");
  MPI_Comm_disconnect(&inter);
}

void ports(const Session& session) {
  if (session.size < 2) return;
  MPI_Comm half = MPI_COMM_NULL;
  const bool low = session.rank < session.size / 2;
  MPI_Comm_split(MPI_COMM_WORLD, low ? 0 : 1, session.rank, &half);
  int rank = 0;
  MPI_Comm_rank(half, &rank);
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter = MPI_COMM_NULL;
  step("open, accept, connect");
  if (low) {
    if (rank == 0) {
      MPI_Open_port(MPI_INFO_NULL, port);
      MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, session.size / 2, 5, MPI_COMM_WORLD);
    }
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
  } else {
    if (rank == 0) MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
  }
  across(inter, low, "accept and connect");
  step("disconnect the halves");
  MPI_Comm_disconnect(&inter);
  if (low && rank == 0) MPI_Close_port(port);
  MPI_Comm_free(&half);
}

int child(Session& session, MPI_Comm parent) {
  across(parent, false, "child and parent");
  std::uint64_t mine = failures();
  std::uint64_t theirs = 0;
  MPI_Allreduce(&mine, &theirs, 1, MPI_UINT64_T, MPI_SUM, parent);
  MPI_Comm_disconnect(&parent);
  return session.finish();
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "spawn");
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return child(session, parent);
  const std::string what = session.options.get("what", "both");
  for (std::uint64_t cycle = session.options.number("cycles", 2); cycle > 0; --cycle) {
    if (what != "ports") spawn(session, argv[0], static_cast<int>(session.options.number("children", 2)));
    if (what != "spawn") ports(session);
  }
  return session.finish();
}
