// The settings of a rendezvous engine (rndv/read_options.hpp reads them).
#pragma once

#include <cstdint>

#include "rndv/cost_model.hpp"

namespace stria::rndv {

struct Options {
  Force force = Force::automatic;
  std::uint64_t pull_slice = 4u << 20;
  std::uint32_t fragment_bytes = 32768;    ///< of the pipeline, at most
  bool fragment_fixed = false;             ///< the user said so: all but the last have that size
  std::uint32_t patience_us = 5;           ///< a receiver waits so long for a fragment before it helps itself
  bool flows = false;                      ///< as Question's
  bool shares = true;                      ///< both sides may copy a part of a message each
  std::uint64_t rails_from = 1u << 20;     ///< messages so long are divided among the links of a peer
  std::uint64_t piece_bytes = 512u << 10;  ///< what a link is asked for at a time, at most
};

}  // namespace stria::rndv
