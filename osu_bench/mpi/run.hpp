// The whole of an MPI program but its question: all of them share one library.
#pragma once

#include "osu_bench/common/question.hpp"

namespace stria::bench {

/// Parses the command line and runs the question. Returns the exit code. Initialises and finalizes MPI.
int run_mpi(Question question, int argc, char** argv);

}  // namespace stria::bench
