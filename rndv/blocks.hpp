// Blocks: how one side's memory lies, as far as the way of a message depends on it.
#pragma once

#include "transport/payload.hpp"

namespace stria::rndv {

struct Blocks {
  std::uint32_t mean_bytes = 0;  ///< mean contiguous run, saturated; 0: contiguous
  bool sparse = false;           ///< each run is a cache line of its own (transport::is_sparse)
  bool turned = false;           ///< a matrix by its columns (transport::turned_bytes)

  constexpr bool operator==(const Blocks&) const noexcept = default;
};

inline Blocks blocks_in(const transport::Payload& memory) noexcept {
  return {transport::mean_block(memory), transport::is_sparse(memory), transport::turned_bytes(memory) != 0};
}

}  // namespace stria::rndv
