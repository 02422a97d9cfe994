// The whole of a native program but its question: all of them share one library.
#pragma once

#include "osu_bench/common/question.hpp"

namespace stria::bench {

/// Parses the command line and runs the question. Returns the exit code.
int run_native(Question question, int argc, char** argv);

}  // namespace stria::bench
