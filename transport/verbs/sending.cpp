// Sends the packets of a link: inside the work request (short), packed into a slot first, or as a prefix
// alone.
#include <cstring>

#include "transport/verbs/completions.hpp"
#include "transport/verbs/link.hpp"

namespace stria::verbs {

/// Whether a packet may be sent now: ok, or the answer to give. Greets if that is still to be done.
Status Link::can_send() noexcept {
  if (dying) [[unlikely]]
    return Status::peer_failed;
  if (!ready() && !(has_to_greet() && greet())) return Status::no_resource;
  if (queue_.binds_have_to_wait()) return Status::no_resource;
  return credits_.have() > 0 && queue_.has_room(1) ? Status::ok : Status::no_resource;
}

Status Link::pio_send(const transport::Header& header, const void* payload, std::uint32_t bytes) noexcept {
  if (shared_.can.pio_max == 0) return Status::unsupported;
  const Status can = can_send();
  if (can != Status::ok) return can;
  return send_short(PacketKind::pio, header, payload, bytes, nullptr);
}

Status Link::eager_send(const transport::Header& header, const transport::Payload& payload) noexcept {
  const Status can = can_send();
  if (can != Status::ok) return can;
  const auto bytes = static_cast<std::uint32_t>(payload.length);
  if (shared_.can.pio_max != 0 && bytes <= shared_.can.pio_max) {  // inside the work request: needs no slot
    std::byte gathered[kMostShort];
    if (bytes > 0) shared_.services->pack(&payload, gathered);
    return send_short(PacketKind::buffered, header, gathered, bytes, nullptr);
  }
  return send_slot(PacketKind::buffered, header, payload, nullptr);
}

Status Link::send_invalidate(const transport::Header& header, const void* payload, std::uint32_t bytes,
                             const transport::Key& key) noexcept {
  if (!shared_.can.sends_invalidate) return Status::unsupported;
  KeyContent data;
  if (!read_key(key, data)) return Status::access_error;
  if (!ends_by_message(data.kind)) return Status::unsupported;
  const Status can = can_send();
  if (can != Status::ok) return can;
  if (shared_.can.pio_max != 0 && bytes <= shared_.can.pio_max)
    return send_short(PacketKind::closing, header, payload, bytes, &data);
  return send_slot(PacketKind::closing, header,
                   {nullptr, const_cast<void*>(payload), bytes, 0, static_cast<std::int64_t>(bytes)}, &data);
}

/// Sends a packet inside the work request. `closes`: the peer's key that the packet ends, or null.
Status Link::send_short(PacketKind kind, const transport::Header& header, const void* payload,
                        std::uint32_t bytes, const KeyContent* closes) noexcept {
  const Prefix prefix = next_prefix(kind);
  std::byte packet[kHeadBytes + kMostShort];
  std::memcpy(packet, &prefix, sizeof prefix);
  std::memcpy(packet + sizeof prefix, &header, sizeof header);
  if (bytes > 0) std::memcpy(packet + kHeadBytes, payload, bytes);
  ibv_sge piece{reinterpret_cast<std::uint64_t>(packet), kHeadBytes + bytes, 0};
  ibv_send_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = closes == nullptr ? IBV_WR_SEND : IBV_WR_SEND_WITH_INV;
  request.send_flags = IBV_SEND_INLINE;
  if (closes != nullptr) request.invalidate_rkey = closes->rkey;
  credits_.spend();
  const Entry entry{};
  return queue_.post(&request, &entry, 1, false);
}

/// Packs a packet into a slot and sends it from there. `closes`: the peer's key that the packet ends, or
/// null. no_resource: no slot is free.
Status Link::send_slot(PacketKind kind, const transport::Header& header, const transport::Payload& payload,
                       const KeyContent* closes) noexcept {
  SendSlots& slots = shared_.slots;
  std::uint32_t slot = slots.take();
  if (slot == SendSlots::kNone) {
    shared_.completions->reap();
    slot = slots.take();
    if (slot == SendSlots::kNone) return Status::no_resource;
  }
  const Prefix prefix = next_prefix(kind);
  std::byte* const at = slots.at(slot);
  std::memcpy(at, &prefix, sizeof prefix);
  std::memcpy(at + sizeof prefix, &header, sizeof header);
  if (payload.length > 0) shared_.services->pack(&payload, at + kHeadBytes);
  ibv_sge piece{reinterpret_cast<std::uint64_t>(at), kHeadBytes + static_cast<std::uint32_t>(payload.length),
                slots.lkey()};
  ibv_send_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = closes == nullptr ? IBV_WR_SEND : IBV_WR_SEND_WITH_INV;
  if (closes != nullptr) request.invalidate_rkey = closes->rkey;
  credits_.spend();
  const Entry entry{Entry::Doing::slot, slot, nullptr};
  return queue_.post(&request, &entry, 1, slots.is_low());
}

/// Sends a greeting, or a packet of credits. no_resource: no slot is free.
Status Link::send_prefix(PacketKind kind) noexcept {
  Prefix prefix = next_prefix(kind);
  ibv_sge piece{reinterpret_cast<std::uint64_t>(&prefix), sizeof prefix, 0};
  ibv_send_wr request{};
  Entry entry{};
  if (shared_.can.pio_max != 0) {
    request.send_flags = IBV_SEND_INLINE;
  } else {
    SendSlots& slots = shared_.slots;
    const std::uint32_t slot = slots.take();
    if (slot == SendSlots::kNone) {
      credits_.put_back(prefix);
      return Status::no_resource;
    }
    std::memcpy(slots.at(slot), &prefix, sizeof prefix);
    piece = {reinterpret_cast<std::uint64_t>(slots.at(slot)), sizeof prefix, slots.lkey()};
    entry = {Entry::Doing::slot, slot, nullptr};
  }
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  return queue_.post(&request, &entry, 1, entry.doing == Entry::Doing::slot && shared_.slots.is_low());
}

}  // namespace stria::verbs
