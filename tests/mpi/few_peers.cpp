// A rank has endpoints to the ranks that its sends, receives and probes have named, not to all of its job;
// and to one rank on each other host, which MPI_Init tries. A message from a rank that no endpoint leads to
// is received all the same, from any source and from that one, and may open a communicator of its own.
//   --hosts=N   how many hosts the ranks are on (default 1)
#include <cstdlib>
#include <set>
#include <string_view>
#include <vector>

#include "tests/mpi/harness.hpp"
#include "tests/mpi/tool_interface.hpp"

using namespace mpitest;

namespace {

enum Tag { kRing, kAny, kNamed, kGroup };

/// The ranks that this one has named, beside the number of endpoints that the layer has.
class Peers {
 public:
  explicit Peers(const Session& session) : session_(session) {
    const char* const layer = std::getenv("OMPI_MCA_pml");
    is_ours_ = layer != nullptr && std::string_view(layer) == "stria";
  }
  /// The rank that is `distance` further on, from now on named.
  int name(int distance) {
    const int rank = unnamed(distance);
    named_.insert(rank);
    return rank;
  }
  /// The same rank, while it stays unnamed.
  [[nodiscard]] int unnamed(int distance) const {
    return (session_.rank + session_.size + distance) % session_.size;
  }
  /// Of another layer, which has no such number, nothing is expected.
  void expect_no_more(const char* when) {
    if (!is_ours_) return;
    const auto open = tool_.performance("pml_stria_peers", MPI_T_PVAR_CLASS_LEVEL);
    if (!expect(open.has_value(), "there is no variable pml_stria_peers")) return;
    const std::uint64_t others = session_.options.number("hosts", 1) - 1;
    expect(*open >= named_.size() && *open <= named_.size() + others,
           text(*open, " endpoints ", when, ", named were ", named_.size()));
  }

 private:
  const Session& session_;
  ToolInterface tool_;
  std::set<int> named_;
  bool is_ours_ = false;
};

void ring(Peers& peers, int rank) {
  step("ring");
  int in = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, peers.name(1), kRing, &in, 1, MPI_INT, peers.name(-1), kRing,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  expect_equal(in, peers.unnamed(-1), "the word of the rank before");
}

void from_any_source(Peers& peers, int rank) {
  step("from any source");
  int in = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(&rank, 1, MPI_INT, peers.name(3), kAny, MPI_COMM_WORLD, &request);
  MPI_Status status;
  MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, kAny, MPI_COMM_WORLD, &status);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect_equal(status.MPI_SOURCE, peers.unnamed(-3), "the source");
  expect_equal(in, peers.unnamed(-3), "its word");
}

// The message is there before its source is named, and one of rendezvous size is under way.
void named_late(Peers& peers, int rank) {
  step("named when the message is there");
  const std::vector<int> out(1 << 19, rank);
  std::vector<int> in(out.size(), -1);
  MPI_Request requests[2];
  const int to = peers.name(5);
  const int words = static_cast<int>(out.size());
  MPI_Isend(&rank, 1, MPI_INT, to, kNamed, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out.data(), words, MPI_INT, to, kNamed, MPI_COMM_WORLD, &requests[1]);
  MPI_Status status;
  MPI_Probe(MPI_ANY_SOURCE, kNamed, MPI_COMM_WORLD, &status);
  expect_equal(status.MPI_SOURCE, peers.unnamed(-5), "the source of the probe");
  peers.expect_no_more("after a probe of any source");
  int first = -1;
  const int from = peers.name(-5);
  MPI_Recv(&first, 1, MPI_INT, from, kNamed, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv(in.data(), words, MPI_INT, from, kNamed, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  expect_equal(first, from, "the first message");
  expect(in == std::vector<int>(in.size(), from), "the long message");
}

// Two ranks that are new to each other make a communicator without the others.
void group_of_two(Peers& peers, const Session& session) {
  step("MPI_Comm_create_group");
  const bool is_first = session.rank < session.size / 2;
  const int other = peers.name(session.size / 2);
  const int ranks[2] = {is_first ? session.rank : other, is_first ? other : session.rank};
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group two = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, ranks, &two);
  MPI_Comm_create_group(MPI_COMM_WORLD, two, kGroup, &comm);
  int sum = 0;
  MPI_Allreduce(&session.rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  expect_equal(sum, ranks[0] + ranks[1], "the sum of two");
  MPI_Comm_free(&comm);
  MPI_Group_free(&two);
  MPI_Group_free(&world);
}

void talk(const Session& session) {
  Peers peers(session);
  peers.expect_no_more("after MPI_Init");
  ring(peers, session.rank);
  peers.expect_no_more("after a ring");
  from_any_source(peers, session.rank);
  peers.expect_no_more("after a message from any source");
  named_late(peers, session.rank);
  peers.expect_no_more("after a receive of its messages");
  group_of_two(peers, session);
  peers.expect_no_more("after a communicator of two");
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "few_peers");
  if (!expect(session.size >= 12 && session.size % 2 == 0, "12 ranks are needed, or a greater even number"))
    return session.finish();
  talk(session);
  return session.finish();
}
