// The shapes of the datatype benchmark.
#pragma once

#include <string>
#include <vector>

#include "osu_bench/common/recipe.hpp"

namespace stria::bench {

struct Case {
  std::string name;
  long parameter;  ///< what varies within the name
  Recipe sent;
  Recipe received;  ///< same signature as `sent`
};

/// column     parameter N: a column of an N x N matrix of doubles
/// vector     parameter B: 64 KiB of doubles in blocks of B bytes, a block and a gap of the same length in
/// turn indexed    parameter n: n blocks of 1 to 4 doubles with irregular gaps (always the same ones) struct
/// parameter n: n times struct {double; int; char}, the padding left out face       parameter d: the face of
/// a 128^3 cube of doubles across dimension d (0 slowest: contiguous, 2 a double a row) transpose  parameter
/// N: an N x N matrix of doubles sent by rows and received by columns
std::vector<Case> datatype_cases();

}  // namespace stria::bench
