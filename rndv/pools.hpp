// Pools: what an operation borrows from its engine because most operations do not need it. Whoever needs it
// takes it; Ends gives it back when the operation ends.
#pragma once

#include "rndv/ahead.hpp"
#include "rndv/division.hpp"
#include "rndv/stored_key.hpp"

namespace stria::rndv {

struct Pools {
  KeyPool keys;         ///< of operations whose keys are long
  AheadPool aheads;     ///< of receives whose fragments overtake each other, or are placed
  Divisions divisions;  ///< of receives that are divided among links
};

}  // namespace stria::rndv
