// Whether a round went as MPI promises: who got which message, in which order, with which bytes and status.
#pragma once

#include "tests/mpi/p2p_random/communicators.hpp"
#include "tests/mpi/p2p_random/plan.hpp"
#include "tests/mpi/p2p_random/round.hpp"

namespace p2p_random {

/// Judges what this rank received and sent.
void check_round(const Round& round, const Plan& plan, const Communicators& comms);

}  // namespace p2p_random
