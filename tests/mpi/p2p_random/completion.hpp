// How requests are brought to their end: by every call of MPI's wait and test families, in an order of its
// own, some at a time and with other requests still under way.
#pragma once

#include <mpi.h>

#include <vector>

#include "tests/mpi/harness.hpp"

namespace p2p_random {

/// An operation that was started, and what MPI says of its end.
struct Pending {
  MPI_Request request = MPI_REQUEST_NULL;
  bool persistent = false;
  bool may_fail = false;
  bool ended = false;
  MPI_Status status{};
  int error = MPI_SUCCESS;
  const char* ended_by = "its own call";
};

/// Ends all of them and frees the persistent ones. `threads` leaves out what Open MPI does wrong
/// with threads (README.md).
void complete(mpitest::Rng& rng, std::vector<Pending*> open, bool threads);

/// The error class of a return code or of MPI_ERROR in a status.
int class_of(int error);

}  // namespace p2p_random
