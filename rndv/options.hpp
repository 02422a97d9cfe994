// The settings of a rendezvous engine (rndv/read_options.hpp reads them).
#pragma once

#include <cstdint>

#include "rndv/cost_model.hpp"

namespace stria::rndv {

struct Options {
  Force force = Force::automatic;
  std::uint64_t pull_slice = 4u << 20;   ///< bytes that one side copies before it handles other traffic
  std::uint32_t fragment_bytes = 32768;  ///< longest fragment of the pipeline
  bool fragment_fixed = false;    ///< the user set fragment_bytes: all fragments but the last have that size
  std::uint32_t patience_us = 5;  ///< how long a receiver waits for a fragment before it reads for itself
  bool flows = false;             ///< fragments flow between far caches (MessageFacts::flows)
  bool copy_by_both = true;       ///< both sides may copy a part of a message each (mapped by both)
  std::uint64_t rails_from = 1u << 20;     ///< shortest message that is divided among the links of a peer
  std::uint64_t piece_bytes = 512u << 10;  ///< longest piece that one link is asked for at a time
};

}  // namespace stria::rndv
