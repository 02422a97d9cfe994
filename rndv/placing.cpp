// How fragments are placed: a provider asks where a payload is to go before the payload has come, and then
// writes it into the memory of the receive. A fragment is checked before memory is named for it, so that no
// byte is written that does not belong to the message.
#include <new>

#include "rndv/fragments.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

using transport::LinkRef;
using transport::Packet;
using transport::Payload;

bool Fragments::place(const LinkRef& link, const IncomingFragment& fragment, Payload& memory) noexcept {
  Operation* const found = operations_.find(fragment.header.tag);
  if (found == nullptr || found->kind != Operation::Kind::recv || found->link != &link ||
      found->state != Operation::State::receiving || found->failed || found->outcome != Status::ok)
    return false;
  auto& op = static_cast<RecvOp&>(*found);
  const std::uint64_t begin = wire::place_of(fragment.header), bytes = fragment.bytes;
  if (bytes == 0 || !transport::goes_by_pieces(op.memory) || !is_wanted(op, fragment.rail, begin, bytes) ||
      !start_placing(op, begin, begin + bytes, fragment.device))
    return false;
  link.silence.heard = true;
  memory = transport::slice(op.memory, begin, bytes);
  return true;
}

bool Fragments::start_placing(RecvOp& op, std::uint64_t begin, std::uint64_t end,
                              std::uint8_t device) noexcept try {
  if (op.reassembly == nullptr) op.reassembly = reassemblies_.acquire();
  return op.reassembly->start_placing(begin, end, device);
} catch (const std::bad_alloc&) {
  return false;  // the payload comes by the provider's memory
}

FragmentOutcome Fragments::on_placed(const LinkRef& link, const Packet& packet,
                                     const LinkRef* rail) noexcept {
  Operation* const found = operations_.find(packet.header->tag, Operation::Kind::recv, link);
  const std::uint64_t begin = wire::place_of(*packet.header);
  if (found == nullptr || !Finisher::is_held(*found)) return FragmentOutcome::misfit;
  auto& op = static_cast<RecvOp&>(*found);
  if (!op.reassembly->stop_placing(begin, begin + packet.bytes)) return FragmentOutcome::misfit;
  if (!op.failed && op.outcome == Status::ok)
    return note_received(op, rail, begin, packet.bytes) ? FragmentOutcome::handled : FragmentOutcome::misfit;
  if (!op.in_flight) finisher_.end_receiving(op);
  return FragmentOutcome::handled;
}

void Fragments::end_placing(const LinkRef& link, std::uint8_t device) noexcept {
  IntrusiveList<Operation> doomed;  // ended after the loop: ending one may start and end others
  operations_.for_each_named([&](Operation& op) {
    if (op.link != &link || op.kind != Operation::Kind::recv || !Finisher::is_held(op)) return;
    static_cast<RecvOp&>(op).reassembly->stop_placing_by(device);
    const bool goes_on = !op.failed && op.outcome == Status::ok;
    if (Finisher::is_held(op) || goes_on || op.in_flight) return;
    operations_.move_to(doomed, op);
  });
  while (Operation* op = doomed.front()) {
    if (op->failed)
      finisher_.finish(*op);
    else
      finisher_.end_receiving(static_cast<RecvOp&>(*op));  // tells its sender why
  }
}

}  // namespace stria::rndv
