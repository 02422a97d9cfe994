// Messages that came before their receive: each has an entry in the unexpected queue, and its payload waits
// in that, in a buffer, or where it arrived.
#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "tag/worker.hpp"
#include "transport/payload.hpp"

namespace stria::tag {

using transport::Packet;
using Kind = Unexpected::Kind;

inline bool Worker::may_stay(const Peer& peer, const Packet& packet) const noexcept {
  return packet.keep != 0 && !peer.has_early && peer.device == delivering_;
}

/// Where it arrived, if it may stay there; else in the entry, or in a buffer. What came early and follows at
/// once may call back, and there be received, before the provider has heard that the payload stays.
std::uint32_t Worker::store_payload(Peer& peer, const Packet& packet) noexcept {
  const Kind kind = packet.bytes <= Unexpected::kInlineMax ? Kind::inline_payload
                    : may_stay(peer, packet)               ? Kind::in_place
                                                           : Kind::buffer;
  const transport::Arrival came =
      kind == Kind::buffer ? transport::arrival(packet) : transport::Arrival::whole;
  if (came == transport::Arrival::later) [[unlikely]] {
    receiver_.consumed(peer, packet.bytes);
    return comes_later(peer, packet);
  }
  Unexpected* entry = unexpected_.allocate();
  std::byte* const buffer =
      entry != nullptr && kind == Kind::buffer ? receiver_.buffer_for(packet.bytes) : nullptr;
  if (entry == nullptr || (kind == Kind::buffer && buffer == nullptr)) {
    if (entry != nullptr) unexpected_.release(entry);
    log::error("out of memory for an unexpected message of {} bytes; its sender is given up", packet.bytes);
    receiver_.consumed(peer, packet.bytes);
    fail_peer(peer, Status::io_error);
    return 0;
  }
  entry->tag = packet.header->tag;
  entry->immediate = packet.header->immediate;
  entry->length = packet.bytes;
  entry->source = peer.index;
  entry->about = wire::sync_name(*packet.header);
  entry->kind = static_cast<std::uint32_t>(kind);
  if (kind == Kind::buffer)
    receiver_.kept_in_buffer(peer, packet.bytes);
  else
    receiver_.kept_elsewhere(peer, packet.bytes);
  switch (kind) {
    case Kind::in_place:
      entry->in_place = {static_cast<const std::byte*>(packet.payload), packet.keep};
      entry->key_bytes = transport::is_arriving(packet) ? 1 : 0;  // it comes whole on its own
      break;
    case Kind::buffer:
      entry->buffer = buffer;
      if (came == transport::Arrival::whole)
        transport::unpack({nullptr, buffer, packet.bytes, 0, packet.bytes}, packet.payload);
      break;
    default:
      if (packet.bytes > 0) std::memcpy(entry->payload, packet.payload, packet.bytes);
      break;
  }
  if (came == transport::Arrival::never) [[unlikely]] {
    free_unexpected(*entry);
    fail_peer(peer, Status::peer_failed);
    return 0;
  }
  unexpected_.push(entry);
  top_up(peer);
  return kind == Kind::in_place ? STRIA_DELIVERED_KEPT : 0;
}

void Worker::store_announcement(Peer& peer, const stria_header_t& header,
                                const rndv::Announcement& announced) noexcept {
  Unexpected* entry = unexpected_.allocate();
  std::byte* buffer = nullptr;
  const bool long_key = announced.key.bytes > sizeof(entry->announced.key);
  const std::uint32_t stored = rndv::Announcement::bytes_with(announced.key.bytes);
  if (entry != nullptr && long_key) buffer = receiver_.buffer_for(stored);
  if (entry == nullptr || (long_key && buffer == nullptr)) {
    if (entry != nullptr) unexpected_.release(entry);
    log::error("out of memory for an announcement; its sender is given up");
    fail_peer(peer, Status::io_error);
    return;
  }
  entry->tag = header.tag;
  entry->immediate = header.immediate;
  entry->length = announced.length;
  entry->source = peer.index;
  entry->kind = static_cast<std::uint32_t>(Kind::announced);
  entry->about =
      Unexpected::packed({announced.block_bytes, announced.sparse, announced.turned, announced.written});
  entry->key_bytes = long_key ? Unexpected::kLongKey : announced.key.bytes;
  if (long_key) {
    std::memcpy(buffer, &announced, stored);
    entry->buffer = buffer;
  } else {
    entry->announced.sender_op = announced.sender_op;
    std::memcpy(entry->announced.key, announced.key.data, announced.key.bytes);
  }
  unexpected_.push(entry);
}

}  // namespace stria::tag
