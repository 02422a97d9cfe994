// How bytes of a message go out as fragments: packed by eager_send, or out of the memory itself by zero-copy
// sends. A template, because two kinds of objects send fragments: a SendOp whose receiver asked for all of
// the message at once, and a SendPiece of one that asks for pieces (piece_sender.hpp). Each has
//
//   link            that the fragments go by
//   memory          of the message
//   moved, length   the first byte that was not sent, and the end of what is to be sent
//   peer_op         the receiver's name for the operation
//   packs           fragments are packed, because the link or the memory does not allow zero-copy sends
//   fragment_bytes  payload of a fragment at most
//   zcopy_sends     outstanding; the object is a Completion for them
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/cache_line.hpp"
#include "transport/link_ref.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

/// Payload bytes of a fragment: `wanted` if the link takes so many, else the whole cache lines in the `most`
/// bytes that it takes; below one line, `most`.
constexpr std::uint32_t cut(std::uint32_t wanted, std::uint32_t most) noexcept {
  if (wanted <= most) return wanted;
  constexpr auto kLine = static_cast<std::uint32_t>(kCacheLine);
  return most < kLine ? most : most / kLine * kLine;
}

template <class Stream>
std::uint32_t fragment_max(const Stream& stream) noexcept {
  return stream.packs ? stream.link->eager_max : stream.link->zcopy_max();
}

/// Whether its fragments are packed, and how long they are at most: `wanted`, where the link takes that.
template <class Stream>
void choose_packing(Stream& stream, std::uint32_t wanted) noexcept {
  stream.packs = stream.link->zcopy_max() == 0 || !transport::goes_by_pieces(stream.memory);
  stream.fragment_bytes = cut(wanted, fragment_max(stream));
}

/// The provider's memory is with peers that do not give it back: the rest goes in fragments that fit the
/// link's window, or what it has without one. False: they do already.
template <class Stream>
bool shorten(Stream& stream) noexcept {
  const std::uint32_t bytes =
      cut(stream.fragment_bytes, std::max(stream.link->pio_below, wire::kSmall + 1) - 1);
  return bytes != std::exchange(stream.fragment_bytes, bytes);
}

/// Sends the next bytes out of the memory. unsupported: the provider does not send out of it.
template <class Stream>
Status send_in_place(Stream& stream, std::uint64_t bytes) noexcept {
  const Status sent = stream.link->zcopy_send(wire::make_fragment(stream.peer_op, stream.moved),
                                              transport::slice(stream.memory, stream.moved, bytes), &stream);
  if (sent != Status::in_progress) return sent;
  ++stream.zcopy_sends;
  return Status::ok;
}

/// Sends the next `bytes`, or as many as a packed fragment takes, and says how many.
template <class Stream>
Status send_fragment(Stream& stream, std::uint64_t& bytes) noexcept {
  if (!stream.packs) {
    const Status sent = send_in_place(stream, bytes);
    if (sent != Status::unsupported) return sent;
    stream.packs = true;
    stream.fragment_bytes = cut(stream.fragment_bytes, fragment_max(stream));
    bytes = std::min<std::uint64_t>(bytes, stream.fragment_bytes);
  }
  return stream.link->eager_send(wire::make_fragment(stream.peer_op, stream.moved),
                                 transport::slice(stream.memory, stream.moved, bytes));
}

/// Sends the next few fragments; then other traffic is looked after. `any`: at least one went. ok or
/// no_resource: there may be more to send, as `moved` says. Anything else: the link is dead.
template <class Stream>
Status send_fragments(Stream& stream, bool& any) noexcept {
  constexpr unsigned kFragmentsPerStep = 8;
  for (unsigned i = 0; i < kFragmentsPerStep && stream.moved < stream.length; ++i) {
    std::uint64_t bytes = std::min<std::uint64_t>(stream.fragment_bytes, stream.length - stream.moved);
    const Status sent = send_fragment(stream, bytes);
    if (sent == Status::unsupported && shorten(stream)) continue;
    if (sent == Status::no_resource || sent == Status::unsupported) return Status::no_resource;
    if (sent != Status::ok) return sent;
    stream.moved += bytes;
    any = true;
  }
  return Status::ok;
}

}  // namespace stria::rndv
