// ServedAccess: puts and gets that a provider cannot do itself. The target's engine serves them while it
// makes progress, with the packed pipeline. A get is a receive whose sender is made on demand at the target;
// a put is a send whose receiver is made on demand there.
#pragma once

#include <cstdint>

#include "rndv/common.hpp"
#include "rndv/requests.hpp"
#include "rndv/streamer.hpp"

namespace stria::rndv {

/// Threads: called with the worker's lock held.
class ServedAccess {
 public:
  ServedAccess(const Common& common, Streamer& streamer, Requests& requests) noexcept
      : options_(common.options),
        operations_(common.operations),
        finisher_(common.finisher),
        owner_(common.owner),
        streamer_(streamer),
        requests_(requests) {}
  ServedAccess(const ServedAccess&) = delete;
  ServedAccess& operator=(const ServedAccess&) = delete;

  /// Asks the peer's engine to serve a get (op.length bytes of `region` from `offset` on) or a put.
  void start_get(RecvOp& op, std::uint64_t region, std::uint64_t offset) noexcept;
  void start_put(SendOp& op, std::uint64_t region, std::uint64_t offset) noexcept;
  /// Sends the request of a put or get that has not sent it yet. True when something moved.
  bool step(Operation& op) noexcept;
  /// At the target: serves a get or put of a peer. `memory` is the part of the region that was asked for;
  /// `status`: ok, or why the access is refused.
  void serve_get(const transport::LinkRef& link, std::uint64_t region, const wire::RmaBody& body,
                 const transport::Payload& memory, Status status) noexcept;
  void serve_put(const transport::LinkRef& link, std::uint64_t region, const wire::RmaBody& body,
                 const transport::Payload& memory, Status status) noexcept;

 private:
  const Options& options_;
  Operations& operations_;
  Finisher& finisher_;
  Owner& owner_;
  Streamer& streamer_;
  Requests& requests_;
};

}  // namespace stria::rndv
