// RmaOp: a put or get that a provider does, or is to do when it has room. It lies in the memory of the
// request that owns it, and has everything that the provider is told, so that the caller's key may be closed
// meanwhile.
//
//   RmaOp:  (the provider does it at once) ended
//             |\-> (the provider has it) in flight -> ended by its completion
//             \--> (no room) waiting in its peer's queue -> one of these two, when progress flushes the peer
//           (the provider refuses this memory, before or after) served by the peer's engine:
//           rndv/served_access.cpp
#pragma once

#include <cstdint>

#include "base/intrusive_list.hpp"
#include "transport/contract.hpp"

namespace stria::tag {

class RemoteAccess;

struct RmaOp : ListNode, transport::Completion {
  RmaOp() noexcept : transport::Completion{} {}
  RemoteAccess* by;           ///< the object of the worker that started the operation
  transport::Payload memory;  ///< of this worker
  std::uint64_t region;       ///< the owner's name for the region, which the owner's engine is given
  std::uint64_t offset;       ///< in the region's packed stream
  transport::Key key;         ///< for the provider; set when the operation has to wait
};

}  // namespace stria::tag
