// Memory of operations that a provider reads or writes on its own: it reads that of zero-copy sends until
// their completions, and writes what it places until it delivers that, or its link dies. An operation that is
// over before, because it has all, its peer refused or failed, or is given up, keeps its memory until then:
// it waits in the list of those that are held, and ends with the last completion or placed packet.
//
//   sender    FRAG 0 ──►  FRAG 1 ──► (all are sent)  ending ......... completion 0, completion 1: done
//   receiver  place FRAG 1 ....... (the peer failed)  held ................... FRAG 1 is placed: done
//
// A fragment is checked before memory is named for it, so that no byte is written that does not belong to the
// message.
#include <new>

#include "base/log.hpp"
#include "rndv/engine.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

using transport::Header;
using transport::LinkRef;
using transport::Packet;
using transport::Payload;

bool Engine::is_held(const Operation& op) noexcept {
  if (op.kind == Operation::Kind::send)
    return op.zcopy_sends != 0 || (op.divided && static_cast<const SendOp&>(op).pieces != nullptr);
  return op.state == Operation::State::receiving && op.ahead != nullptr && op.ahead->is_placing();
}

void Engine::hold(Operation& op) noexcept {
  deactivate(op);
  activate_in(held_, op);
}

/// The operation is over, with the outcome that it has; the peer is not told.
void Engine::end(Operation& op) noexcept {
  if (op.divided && op.kind == Operation::Kind::send) pieces_.stop(static_cast<SendOp&>(op));
  if (!is_held(op)) {
    finish(op);
    return;
  }
  if (op.kind == Operation::Kind::send)
    op.ending = true;
  else
    op.failed = true;
  hold(op);
}

void Engine::end_sending(SendOp& op, Status outcome) noexcept {
  op.outcome = outcome;
  end(op);
}

void Engine::on_zcopy_done(stria_completion_t* completion, stria_status_t status) noexcept {
  auto& op = static_cast<SendOp&>(*completion);
  op.engine->zcopy_ended(op, transport::from_c(status));
}

/// A failure says that the link is dead, so the send is over, too.
void Engine::zcopy_ended(SendOp& op, Status status) noexcept {
  --op.zcopy_sends;
  if (status != Status::ok && op.outcome == Status::ok) op.outcome = status;
  if (op.ending || status != Status::ok) end(op);
}

bool Engine::place(const LinkRef& link, std::uint8_t device, const Header& header, std::uint32_t bytes,
                   Payload& memory, const LinkRef* rail) noexcept {
  Operation* const found = table_.find(header.tag);
  if (found == nullptr || found->kind != Operation::Kind::recv || found->link != &link ||
      found->state != Operation::State::receiving || found->failed || found->outcome != Status::ok)
    return false;
  auto& op = static_cast<RecvOp&>(*found);
  const std::uint64_t begin = wire::place_of(header);
  if (bytes == 0 || !transport::goes_by_pieces(op.memory) || !is_wanted(op, rail, begin, bytes) ||
      !start_placing(op, begin, begin + bytes, device))
    return false;
  link.silence.heard = true;
  memory = transport::slice(op.memory, begin, bytes);
  return true;
}

bool Engine::start_placing(RecvOp& op, std::uint64_t begin, std::uint64_t end, std::uint8_t device) noexcept
    try {
  if (op.ahead == nullptr) op.ahead = take_ahead();
  return op.ahead->start_placing(begin, end, device);
} catch (const std::bad_alloc&) {
  return false;  // it lands in the provider's memory
}

Engine::Taken Engine::on_placed(const LinkRef& link, const Packet& packet, const LinkRef* rail) noexcept {
  Operation* const found = find(packet.header->tag, Operation::Kind::recv, link);
  const std::uint64_t begin = wire::place_of(*packet.header);
  if (found == nullptr || !is_held(*found)) return Taken::misfit;
  auto& op = static_cast<RecvOp&>(*found);
  if (!op.ahead->stop_placing(begin, begin + packet.bytes)) return Taken::misfit;
  if (!op.failed && op.outcome == Status::ok)
    return has_come(op, rail, begin, packet.bytes) ? Taken::well : Taken::misfit;
  if (!op.in_flight) end_receiving(op);
  return Taken::well;
}

void Engine::end_placing(const LinkRef& link, std::uint8_t device) noexcept {
  IntrusiveList<Operation> doomed;  // as in fail_link()
  table_.for_each([&](Operation& op) {
    if (op.link != &link || op.kind != Operation::Kind::recv || !is_held(op)) return;
    static_cast<RecvOp&>(op).ahead->stop_placing_by(device);
    if (is_held(op) || !op.failed || op.in_flight) return;
    deactivate(op);
    activate_in(doomed, op);
  });
  while (Operation* op = doomed.front()) finish(*op);
}

}  // namespace stria::rndv
