// Status: the answer of every data-path function. It fits a register and crosses C boundaries unchanged;
// its values are those of stria_status_t in include/stria/stria.h.
#pragma once

#include <cstdint>
#include <string_view>

namespace stria {

enum class [[nodiscard]] Status : std::int8_t{
    ok = 0,
    in_progress = 1,    ///< accepted, not complete: a completion follows
    no_resource = -1,   ///< nothing changed; the caller may retry
    truncated = -2,     ///< the receive was shorter than the message; what fits was delivered
    cancelled = -3,     ///< ended by a cancel
    invalid = -4,       ///< an argument or a message breaks its rules
    unsupported = -5,   ///< this path cannot do it; take another
    unreachable = -6,   ///< no provider reaches the peer
    access_error = -7,  ///< the key is stale or lacks the right, or the access leaves its bounds
    peer_failed = -8,   ///< the remote worker closed, or its process is gone
    io_error = -9,      ///< the system refused, or a peer broke the protocol; the log has the reason
};

/// A short text for people; never null.
constexpr std::string_view to_string(Status status) noexcept {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::in_progress:
      return "in progress";
    case Status::no_resource:
      return "no resource, retry";
    case Status::truncated:
      return "message truncated";
    case Status::cancelled:
      return "cancelled";
    case Status::invalid:
      return "invalid argument";
    case Status::unsupported:
      return "unsupported";
    case Status::unreachable:
      return "peer unreachable";
    case Status::access_error:
      return "remote access error";
    case Status::peer_failed:
      return "peer failed";
    case Status::io_error:
      return "input/output error";
  }
  return "unknown status";
}

}  // namespace stria
