// The parts of the p2p_semantics program; each runs on all ranks of a 2-rank communicator of its own.
#pragma once

#include <mpi.h>

#include "tests/mpi/harness.hpp"

namespace p2p {

struct Pair {
  MPI_Comm comm;
  int rank;
  int peer;
  std::vector<std::uint64_t> sizes;
  bool avoid_peer_bugs;  // leave out what is known to fail over ob1 (README.md)
};

/// Waits until both ranks are here, by messages on MPI_COMM_WORLD.
void meet(const Pair& p);

void send_modes(const Pair& p);
void persistent(const Pair& p);
void buffered(const Pair& p);
void buffered_without_room(const Pair& p);
void synchronous(const Pair& p);
void exchange_calls(const Pair& p);
void order_and_wildcards(const Pair& p);
void probes(const Pair& p);
void collectives_apart(const Pair& p);
void self_messages(const Pair& p);
void nobody(const Pair& p);
void cancel(const Pair& p);
void truncation(const Pair& p);
void status_fields(const Pair& p);
void completion(const Pair& p);
void freed_early(const Pair& p);
void fortran_handles(const Pair& p);
void one_error_of_two(const Pair& p);
void type_ends_with_request(const Pair& p);

}  // namespace p2p
