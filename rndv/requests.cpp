#include "rndv/requests.hpp"

#include <algorithm>
#include <cstring>

#include "transport/payload.hpp"

namespace stria::rndv {

using transport::Header;

bool Requests::send_rtr(RecvOp& op) noexcept {
  if (!operations_.give_name(op)) return false;
  const bool by_both = op.sink_key_bytes != 0;
  if (op.fragment_bytes == 0) op.fragment_bytes = options_.fragment_bytes;
  if (!by_both) op.fragment_bytes = std::min(op.fragment_bytes, op.link->packet_max());
  const std::uint64_t wanted = by_both ? senders_part(op.length, op.fragment_bytes) : op.length - op.moved;
  struct {
    wire::RtrBody rtr;
    std::uint8_t key[STRIA_PROVIDER_KEY_MAX];
  } body;
  body.rtr = {op.id, op.moved, wanted, op.fragment_bytes, op.sink_key_bytes, 0, {}};
  if (by_both) std::memcpy(body.key, op.key.sink_key(op.sink_key_bytes).data, op.sink_key_bytes);
  const Header header = wire::make_header(wire::Kind::rtr, op.peer_op);
  const Status sent = op.link->send_control(header, &body, sizeof(body.rtr) + op.sink_key_bytes);
  if (sent == Status::no_resource) return false;
  if (sent != Status::ok) {
    op.outcome = sent;
    finisher_.finish(op);
    return true;
  }
  wait_for_fragments(op);
  return true;
}

/// The RTR is sent: the receive waits for fragments. A receive that neither is mapped by both nor may help
/// is in no list, and only packets advance it.
void Requests::wait_for_fragments(RecvOp& op) noexcept {
  operations_.deactivate(op);
  if (!op.remote_half) op.tail = op.length;
  op.reassembly = nullptr;
  op.state = Operation::State::receiving;
  if (op.sink_key_bytes != 0) {
    op.link->silence.heard = true;
    operations_.activate(op);
    return;
  }
  if (!op.helps) return;
  op.link->silence.heard = true;  // patience begins now
  operations_.let_help(op);
}

}  // namespace stria::rndv
