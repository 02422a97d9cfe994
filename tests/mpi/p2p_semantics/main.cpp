// Every point-to-point entry of MPI and what the standard promises of it; one function a promise, in
// parts.hpp.
#include "tests/mpi/p2p_semantics/parts.hpp"

namespace {

struct Part {
  const char* name;
  void (*run)(const p2p::Pair&);
};

constexpr Part kParts[] = {
    {"send_modes", p2p::send_modes},
    {"persistent", p2p::persistent},
    {"buffered", p2p::buffered},
    {"buffered_without_room", p2p::buffered_without_room},
    {"synchronous", p2p::synchronous},
    {"exchange_calls", p2p::exchange_calls},
    {"order_and_wildcards", p2p::order_and_wildcards},
    {"probes", p2p::probes},
    {"collectives_apart", p2p::collectives_apart},
    {"self_messages", p2p::self_messages},
    {"nobody", p2p::nobody},
    {"cancel", p2p::cancel},
    {"truncation", p2p::truncation},
    {"status_fields", p2p::status_fields},
    {"completion", p2p::completion},
    {"freed_early", p2p::freed_early},
    {"fortran_handles", p2p::fortran_handles},
    {"one_error_of_two", p2p::one_error_of_two},
    {"type_ends_with_request", p2p::type_ends_with_request},
};

}  // namespace

void p2p::meet(const Pair& p) {
  MPI_Sendrecv(nullptr, 0, MPI_BYTE, p.peer, 31000, nullptr, 0, MPI_BYTE, p.peer, 31000, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

// --part=NAME runs one part alone; --peer-bugs=avoid leaves out what is known to fail over ob1.
int main(int argc, char** argv) {
  mpitest::Session session(argc, argv, "p2p_semantics");
  const std::string only = session.options.get("part", "");
  if (session.size != 2) {
    mpitest::expect(false, "needs 2 ranks");
    return session.finish();
  }
  for (const Part& part : kParts) {
    if (!only.empty() && only != part.name) continue;
    mpitest::step(part.name);
    p2p::Pair pair{MPI_COMM_NULL, session.rank, 1 - session.rank, mpitest::threshold_sizes(),
                   session.options.get("peer-bugs", "meet") == "avoid"};
    MPI_Comm_dup(MPI_COMM_WORLD, &pair.comm);
    part.run(pair);
    // Nothing may be left over.
    meet(pair);
    int left = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, pair.comm, &left, MPI_STATUS_IGNORE);
    mpitest::expect(left == 0, mpitest::text(part.name, " left a message behind"));
    MPI_Comm_free(&pair.comm);
  }
  return session.finish();
}
