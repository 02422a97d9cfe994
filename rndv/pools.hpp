// Pools: objects that few operations need, kept for the next operation that does. The part of the engine that
// needs one takes it; Ends gives it back when the operation ends.
#pragma once

#include "rndv/ahead.hpp"
#include "rndv/divisions.hpp"
#include "rndv/rail_key.hpp"
#include "rndv/stored_key.hpp"

namespace stria::rndv {

struct Pools {
  KeyPool keys;           ///< of operations whose keys are long
  AheadPool aheads;       ///< of receives whose fragments overtake each other, or are placed
  Divisions divisions;    ///< of receives that are divided among links
  RailKeyPool rail_keys;  ///< of sends that are read by rails
};

}  // namespace stria::rndv
