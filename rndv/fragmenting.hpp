// How bytes of a message go out as fragments: packed by eager_send, or out of the message's memory by
// zero-copy sends. These are templates, because two kinds of objects send fragments: a SendOp whose receiver
// asks for all missing bytes at once, and a SendPiece of a send whose receiver asks for pieces
// (piece_sender.hpp). Each of them has these members:
//
//   link            the link that the fragments go by
//   memory          the memory of the message
//   moved, length   the first byte that was not sent, and the end of what is to be sent
//   peer_op         the receiver's name for the operation
//   packs           fragments are packed, because the link or the memory does not allow zero-copy sends
//   fragment_bytes  payload of a fragment at most
//   zcopy_sends     zero-copy sends outstanding; the object is their Completion
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/cache_line.hpp"
#include "transport/link_ref.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

/// Payload bytes of a fragment on a link that takes up to `most`: `wanted`, if that is not more; else `most`
/// rounded down to whole cache lines, or `most` itself when it is less than a line.
constexpr std::uint32_t fragment_length(std::uint32_t wanted, std::uint32_t most) noexcept {
  if (wanted <= most) return wanted;
  constexpr auto kLine = static_cast<std::uint32_t>(kCacheLine);
  return most < kLine ? most : most / kLine * kLine;
}

template <class Sender>
std::uint32_t fragment_max(const Sender& sender) noexcept {
  return sender.packs ? sender.link->eager_max : sender.link->zcopy_max();
}

/// Decides whether the fragments are packed, and how long they are at most: `wanted` bytes, or less where the
/// link takes less.
template <class Sender>
void choose_packing(Sender& sender, std::uint32_t wanted) noexcept {
  sender.packs = sender.link->zcopy_max() == 0 || !transport::goes_by_pieces(sender.memory);
  sender.fragment_bytes = fragment_length(wanted, fragment_max(sender));
}

/// Shortens the fragments that follow: the provider's eager buffers are held by peers that do not give them
/// back, so each fragment has to fit the link's PIO window, or wire::kSmall bytes if that is more. False: the
/// fragments are that short already.
template <class Sender>
bool shorten_fragments(Sender& sender) noexcept {
  const std::uint32_t bytes =
      fragment_length(sender.fragment_bytes, std::max(sender.link->pio_below, wire::kSmall + 1) - 1);
  return bytes != std::exchange(sender.fragment_bytes, bytes);
}

/// Sends the next `bytes` bytes as a zero-copy send. unsupported: the provider does not send out of this
/// memory.
template <class Sender>
Status send_zero_copy(Sender& sender, std::uint64_t bytes) noexcept {
  const Status sent = sender.link->zcopy_send(wire::make_fragment(sender.peer_op, sender.moved),
                                              transport::slice(sender.memory, sender.moved, bytes), &sender);
  if (sent != Status::in_progress) return sent;
  ++sender.zcopy_sends;
  return Status::ok;
}

/// Sends the next `bytes` bytes as one fragment. When it has to pack them after all, it lowers `bytes` to
/// what a packed fragment takes.
template <class Sender>
Status send_fragment(Sender& sender, std::uint64_t& bytes) noexcept {
  if (!sender.packs) {
    const Status sent = send_zero_copy(sender, bytes);
    if (sent != Status::unsupported) return sent;
    sender.packs = true;
    sender.fragment_bytes = fragment_length(sender.fragment_bytes, fragment_max(sender));
    bytes = std::min<std::uint64_t>(bytes, sender.fragment_bytes);
  }
  return sender.link->eager_send(wire::make_fragment(sender.peer_op, sender.moved),
                                 transport::slice(sender.memory, sender.moved, bytes));
}

/// Sends the next few fragments, so few that other traffic is handled soon. Sets `any` when at least one
/// was sent. ok or no_resource: there may be more to send, as `moved` says. Anything else: the link is dead.
template <class Sender>
Status send_fragments(Sender& sender, bool& any) noexcept {
  constexpr unsigned kFragmentsPerStep = 8;
  for (unsigned i = 0; i < kFragmentsPerStep && sender.moved < sender.length; ++i) {
    std::uint64_t bytes = std::min<std::uint64_t>(sender.fragment_bytes, sender.length - sender.moved);
    const Status sent = send_fragment(sender, bytes);
    if (sent == Status::unsupported && shorten_fragments(sender)) continue;
    if (sent == Status::no_resource || sent == Status::unsupported) return Status::no_resource;
    if (sent != Status::ok) return sent;
    sender.moved += bytes;
    any = true;
  }
  return Status::ok;
}

}  // namespace stria::rndv
