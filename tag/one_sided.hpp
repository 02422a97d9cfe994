// RmaOp: a put or get that a provider does, or is to do when it has room, in the memory of the request that
// owns it. It has all that the provider is told, so that the caller's key may be closed meanwhile.
//
//   RmaOp:  (the provider does it at once) ended
//             |\-> (the provider has it) in flight -> ended by its completion
//             \--> (no room) waiting in its peer's queue -> one of both, when progress flushes the peer
//           (the provider refuses this memory, before or after) served by the peer's engine: rndv/remote.cpp
#pragma once

#include <cstdint>

#include "base/intrusive_list.hpp"
#include "transport/contract.hpp"

namespace stria::tag {

class RemoteAccess;

struct RmaOp : ListNode, transport::Completion {
  RmaOp() noexcept : transport::Completion{} {}
  RemoteAccess* by;           ///< of the worker that started it
  transport::Payload memory;  ///< ours
  std::uint64_t region;       ///< the owner's name of it, for its engine
  std::uint64_t offset;       ///< in the region's packed stream
  transport::Key key;         ///< the provider's; set when the operation has to wait
};

}  // namespace stria::tag
