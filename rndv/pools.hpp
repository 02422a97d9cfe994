// Pools: objects that few operations need, kept for the next operation that does. The part of the engine that
// needs one takes it; Ends gives it back when the operation ends.
#pragma once

#include "rndv/ahead.hpp"
#include "rndv/divisions.hpp"
#include "rndv/rail_key.hpp"
#include "rndv/stored_key.hpp"

namespace stria::rndv {

struct Pools {
  KeyPool keys;           ///< blocks for operations whose keys are long
  AheadPool aheads;       ///< for receives whose fragments overtake each other, or are placed
  Divisions divisions;    ///< for receives whose message is divided among links
  RailKeyPool rail_keys;  ///< for sends whose message is read by rails
};

}  // namespace stria::rndv
