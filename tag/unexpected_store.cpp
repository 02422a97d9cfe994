#include "tag/unexpected_store.hpp"

#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "tag/completion.hpp"
#include "tag/peers.hpp"
#include "transport/payload.hpp"

namespace stria::tag {

using transport::Packet;
using Kind = Unexpected::Kind;

namespace {

/// A payload that was not all there when it was kept, as what it was delivered as.
struct Coming {
  Coming(const Unexpected& entry, const transport::LinkRef& from) noexcept
      : arriving{{nullptr, entry.in_place.payload, static_cast<std::uint32_t>(entry.length),
                  STRIA_PACKET_ARRIVING, entry.in_place.name},
                 &Coming::arrived},
        link(&from) {}
  static std::uint32_t arrived(const stria_arriving_t* self, std::uint32_t bytes) noexcept {
    const stria_packet_t& packet = self->packet;
    return reinterpret_cast<const Coming*>(self)->link->kept_arrived(packet.keep, packet.bytes, bytes);
  }
  stria_arriving_t arriving;  // first: arrived() knows us by it
  const transport::LinkRef* link;
};

}  // namespace

std::uint32_t UnexpectedStore::keep(Peer& peer, const Packet& packet, bool may_stay) noexcept {
  const Kind kind = packet.bytes <= Unexpected::kInlineMax ? Kind::inline_payload
                    : may_stay && packet.keep != 0         ? Kind::in_place
                                                           : Kind::buffer;
  const transport::Arrival came =
      kind == Kind::buffer ? transport::arrival(packet) : transport::Arrival::whole;
  if (came == transport::Arrival::later) [[unlikely]] {
    eager_.consumed(peer, packet.bytes);
    return STRIA_DELIVERED_LATER;
  }
  Unexpected* entry = queue_.allocate();
  std::byte* const buffer =
      entry != nullptr && kind == Kind::buffer ? eager_.buffer_for(packet.bytes) : nullptr;
  if (entry == nullptr || (kind == Kind::buffer && buffer == nullptr)) {
    if (entry != nullptr) queue_.release(entry);
    log::error("out of memory for an unexpected message of {} bytes; its sender is given up", packet.bytes);
    eager_.consumed(peer, packet.bytes);
    fail_(peer, Status::io_error);
    return 0;
  }
  entry->tag = packet.header->tag;
  entry->immediate = packet.header->immediate;
  entry->length = packet.bytes;
  entry->source = peer.index;
  entry->about = wire::sync_name(*packet.header);
  entry->kind = static_cast<std::uint32_t>(kind);
  if (kind == Kind::buffer)
    eager_.kept_in_buffer(peer, packet.bytes);
  else
    eager_.kept_elsewhere(peer, packet.bytes);
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
    free(*entry);
    fail_(peer, Status::peer_failed);
    return 0;
  }
  queue_.push(entry);
  top_up(peer);
  return kind == Kind::in_place ? STRIA_DELIVERED_KEPT : 0;
}

void UnexpectedStore::keep_announcement(Peer& peer, const stria_header_t& header,
                                        const rndv::Announcement& announced) noexcept {
  Unexpected* entry = queue_.allocate();
  std::byte* buffer = nullptr;
  const bool long_key = announced.key.bytes > sizeof(entry->announced.key);
  const std::uint32_t stored = rndv::Announcement::stored_bytes(announced.key.bytes);
  if (entry != nullptr && long_key) buffer = eager_.buffer_for(stored);
  if (entry == nullptr || (long_key && buffer == nullptr)) {
    if (entry != nullptr) queue_.release(entry);
    log::error("out of memory for an announcement; its sender is given up");
    fail_(peer, Status::io_error);
    return;
  }
  entry->tag = header.tag;
  entry->immediate = header.immediate;
  entry->length = announced.length;
  entry->source = peer.index;
  entry->kind = static_cast<std::uint32_t>(Kind::announced);
  entry->about = Unexpected::packed(announced.blocks);
  entry->key_bytes = long_key ? Unexpected::kLongKey : announced.key.bytes;
  if (long_key) {
    std::memcpy(buffer, &announced, stored);
    entry->buffer = buffer;
  } else {
    entry->announced.sender_op = announced.sender_op;
    std::memcpy(entry->announced.key, announced.key.data, announced.key.bytes);
  }
  queue_.push(entry);
}

Peer& UnexpectedStore::source_of(const Unexpected& entry) const noexcept {
  return peers_[entry.source];
}

rndv::Announcement UnexpectedStore::announcement_of(const Unexpected& entry) noexcept {
  rndv::Announcement announced;
  if (entry.has_long_key()) {
    std::memcpy(static_cast<void*>(&announced), entry.buffer, rndv::Announcement::stored_bytes(0));
    std::memcpy(announced.key.data, entry.buffer + rndv::Announcement::stored_bytes(0), announced.key.bytes);
    return announced;
  }
  announced.length = entry.length;
  announced.sender_op = entry.announced.sender_op;
  announced.blocks = entry.blocks();
  announced.key.bytes = entry.key_bytes;
  std::memcpy(announced.key.data, entry.announced.key, entry.key_bytes);
  return announced;
}

void UnexpectedStore::describe(const Unexpected& entry, stria_info_t& info) const noexcept {
  info.status = STRIA_OK;
  info.tag = entry.tag;
  info.immediate = entry.immediate;
  info.length = entry.length;
  info.received = 0;
  info.source = source_of(entry).worker_id;
}

void UnexpectedStore::free(Unexpected& entry) noexcept {
  Peer& peer = source_of(entry);
  switch (entry.what()) {
    case Kind::buffer:
      eager_.free_buffer(peer, entry.buffer, entry.length);
      top_up(peer);
      break;
    case Kind::in_place:
      peer.link.release(entry.in_place.name);
      top_up(peer);
      break;
    case Kind::inline_payload:
      top_up(peer);
      break;
    case Kind::announced:
      if (entry.has_long_key())
        eager_.free_uncounted(entry.buffer,
                              rndv::Announcement::stored_bytes(announcement_of(entry).key.bytes));
      break;
  }
  queue_.release(&entry);
}

void UnexpectedStore::finish(Unexpected& entry, const stria_payload_t& memory, Request& request) noexcept {
  const auto capacity = static_cast<std::uint64_t>(memory.length);
  const bool fits = entry.length <= capacity;
  request.info.received = std::min(capacity, entry.length);
  ++received_;
  free(entry);
  complete(request, fits ? Status::ok : Status::truncated);
}

bool UnexpectedStore::take_in_place(const Unexpected& entry, const stria_payload_t& memory) const noexcept {
  if (!entry.was_coming()) {
    transport::unpack(memory, entry.in_place.payload);
    return true;
  }
  const Coming coming(entry, source_of(entry).link);
  return transport::take(memory, coming.arriving.packet) == transport::Arrival::whole;
}

bool UnexpectedStore::is_half(const Unexpected& entry) const noexcept {
  const auto all = static_cast<std::uint32_t>(entry.length);
  return entry.was_coming() && source_of(entry).link.kept_arrived(entry.in_place.name, all, 0) < all;
}

void UnexpectedStore::top_up(Peer& peer) noexcept {
  if (peer.state == Peer::State::up && eager_.top_up(peer)) activity_.add_to_backlog(peer);
}

void UnexpectedStore::drop_unfinished(const Peer& peer) noexcept {
  queue_.remove_if([&](Unexpected& entry) {
    if (entry.source != peer.index || (entry.what() != Kind::announced && !is_half(entry))) return false;
    free(entry);
    return true;
  });
}

void UnexpectedStore::clear() noexcept {
  while (Unexpected* entry = queue_.first()) {
    queue_.remove(entry);
    free(*entry);
  }
  while (Unexpected* entry = queue_.first_aside()) {
    queue_.let_go(entry);
    free(*entry);
  }
}

}  // namespace stria::tag
