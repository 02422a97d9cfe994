// Pools: objects that few operations need, kept for the next operation that does. The part of the engine that
// needs one takes it; Finisher gives it back when the operation ends.
#pragma once

#include "rndv/divisions.hpp"
#include "rndv/rail_key.hpp"
#include "rndv/reassembly.hpp"
#include "rndv/stored_key.hpp"

namespace stria::rndv {

struct Pools {
  KeyPool keys;                 ///< blocks for operations whose keys are long
  ReassemblyPool reassemblies;  ///< for receives whose fragments overtake each other, or are placed
  Divisions divisions;          ///< for receives whose message is divided among links
  RailKeyPool rail_keys;        ///< for sends whose message is read by rails
};

}  // namespace stria::rndv
