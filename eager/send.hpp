// Sending a message with its match header: inline through the PIO window where it fits, else packed into
// provider memory. One indirect call a message; a message without credit takes the buffered path and is
// matched in order all the same.
#pragma once

#include "transport/link_ref.hpp"
#include "transport/payload.hpp"

namespace stria::eager {

enum class Path : std::uint8_t { pio, buffered };

/// The longest strided message that is packed on the stack for the PIO window; longer ones pack into the
/// window, or a cell, directly.
inline constexpr std::uint32_t kGatherMax = 256;

/// payload.length <= max(pio_max, eager_max) of the link. ok: the memory is the caller's again. no_resource:
/// nothing changed. unsupported: too long for a gathered message, announce it. `path` says which way it went.
inline Status try_send(const transport::LinkRef& link, const transport::Header& header,
                       const transport::Payload& payload, Path& path) noexcept {
  const auto bytes = static_cast<std::uint32_t>(payload.length);
  if (bytes < link.pio_below) {
    Status sent = Status::no_resource;
    if (payload.layout == nullptr) {
      sent = link.pio_send(header, transport::contiguous_begin(payload), bytes);
    } else if (bytes <= kGatherMax) {
      std::byte gathered[kGatherMax];
      transport::pack(payload, gathered);
      sent = link.pio_send(header, gathered, bytes);
    } else if (bytes > link.eager_max) {
      return Status::unsupported;  // neither the stack nor a cell takes it: the caller announces
    }
    path = Path::pio;
    if (sent != Status::no_resource) return sent;
  }
  if (bytes > link.eager_max) return Status::no_resource;
  path = Path::buffered;
  return link.eager_send(header, payload);
}

}  // namespace stria::eager
