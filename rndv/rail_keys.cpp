#include "rndv/rail_keys.hpp"

#include <algorithm>
#include <cstring>

#include "base/log.hpp"

namespace stria::rndv {

using transport::LinkRef;
using transport::Packet;

bool RailKeys::on_ask_key(const LinkRef& link, const Packet& packet, const LinkRef* rail) noexcept {
  wire::AskKeyBody body;
  const std::uint8_t number = packet.header->flags;
  if (packet.bytes != sizeof body || rail == nullptr || number >= STRIA_DEVICES_MAX) return false;
  std::memcpy(&body, packet.payload, sizeof body);
  Operation* const found = operations_.find(packet.header->tag, Operation::Kind::send, link);
  // A receiver whose get was refused asks for fragments, and that request may overtake this one, which then
  // means nothing.
  if (found == nullptr || found->state != Operation::State::waiting || found->ending || found->divided)
    return true;
  auto& op = static_cast<SendOp&>(*found);
  if (op.key.bytes() == 0) return false;
  if (!op.has_rail_keys) {
    RailKeysOfSend* const keys = pool_.acquire(body.receiver_op);
    if (keys == nullptr) return true;  // the receiver reads by other links
    op.rail_keys = keys;
    op.has_rail_keys = true;
  }
  RailKeysOfSend& keys = *op.rail_keys;
  if (keys.receiver() != body.receiver_op || keys.find(*rail) != nullptr) return false;
  RailKey* const one = keys.add(*rail, number);
  if (one == nullptr) return false;
  make_key(op, *rail, *one);
  one->is_due = !send_key(keys, *one);
  if (one->is_due) operations_.activate(op);
  return true;
}

/// Handles END_KEY. The provider has ended the key before it delivers the packet; when the receiver sent the
/// packet without invalidate, the key ends here.
bool RailKeys::on_end_key(const LinkRef& link, const Packet& packet, const LinkRef* rail) noexcept {
  if (packet.bytes != 0 || rail == nullptr) return false;
  Operation* const found = operations_.find(packet.header->tag, Operation::Kind::send, link);
  if (found == nullptr) return true;
  RailKey* const one = found->has_rail_keys ? found->rail_keys->find(*rail) : nullptr;
  if (one == nullptr || !one->is_given()) return false;
  finisher_.end_rail_key(static_cast<SendOp&>(*found), *one);
  return true;
}

/// Makes the rail's key. `out` stays without a key when the provider makes none, or the key does not fit the
/// rail's packets.
void RailKeys::make_key(const SendOp& op, const LinkRef& rail, RailKey& out) noexcept {
  if (op.gathered && !rail.gathers) return;
  const unsigned access = STRIA_ACCESS_REMOTE_READ | (op.gathered ? STRIA_REGISTER_GATHERED : 0u);
  if (rail.fast_register(op.memory, access, out.key) != Status::ok) {
    out.key.bytes = 0;
    return;
  }
  const std::uint32_t most = std::max(rail.pio_below, rail.eager_max + 1) - 1;
  if (out.key.bytes > most) out.end();
}

/// Sends the rail's key to the receiver. False: there is no room. A rail that does not send any more is dead,
/// and its link_down follows.
bool RailKeys::send_key(const RailKeysOfSend& keys, RailKey& one) noexcept {
  const auto header = wire::make_header(wire::Kind::rail_key, keys.receiver());
  return one.link->send_control(header, one.key.data, one.key.bytes) != Status::no_resource;
}

bool RailKeys::step(SendOp& op) noexcept {
  bool any = false, waits = false;
  for (RailKey& one : op.rail_keys->all()) {
    if (!one.is_due) continue;
    one.is_due = !send_key(*op.rail_keys, one);
    any |= !one.is_due;
    waits |= one.is_due;
  }
  if (!waits) operations_.deactivate(op);
  return any;
}

void RailKeys::fail_rail(const LinkRef& link, const LinkRef& rail) noexcept {
  IntrusiveList<Operation> doomed;  // ended after the loop: ending one may start and end others
  operations_.for_each_named([&](Operation& op) {
    if (op.kind != Operation::Kind::send || !op.has_rail_keys || op.link != &link) return;
    RailKeysOfSend& keys = *op.rail_keys;
    RailKey* const one = keys.find(rail);
    if (one == nullptr) return;
    keys.remove(*one);
    if (keys.is_over() && !keys.is_awaited()) operations_.move_to(doomed, op);
  });
  while (Operation* op = doomed.front()) finisher_.end(*op);
}

}  // namespace stria::rndv
