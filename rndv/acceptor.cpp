#include "rndv/acceptor.hpp"

#include "base/log.hpp"
#include "rndv/plan.hpp"
#include "rndv/protocols/protocol.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

using transport::LinkRef;

/// Registers the memory of the receive, which has to be memory that the sender maps, behind a key that the
/// RTR will carry to the sender. False: it is no such memory, or the key does not fit in the RTR; the receive
/// has no key.
bool Acceptor::offer_key(RecvOp& op) noexcept {
  transport::Key key;
  if (op.memory.offset != 0) return false;  // a key covers the memory from its beginning, not from an offset
  if (op.link->fast_register(op.memory, STRIA_ACCESS_REMOTE_WRITE | STRIA_REGISTER_MAPPED, key) != Status::ok)
    return false;
  const bool fits = op.link->pio_below > sizeof(wire::RtrBody) + key.bytes;
  if (!fits || !op.key.set_second(keys_, key.data, key.bytes)) {
    static_cast<void>(op.link->invalidate(key));
    return false;
  }
  op.sink_key_bytes = static_cast<std::uint8_t>(key.bytes);
  return true;
}

void Acceptor::accept(RecvOp& op, const Announcement& announcement) noexcept {
  operations_.began(op);
  op.peer_op = announcement.sender_op;
  if (!op.key.set(keys_, announcement.key)) [[unlikely]]
    log::debug("out of memory for a key of {} bytes; its message comes as fragments", announcement.key.bytes);
  Message message{.length = op.length,
                  .source = announcement.blocks,
                  .sink = blocks_in(op.memory),
                  .has_key = op.key.bytes() != 0,
                  .source_mapped = op.link->can_map && transport::is_mapped(announcement.key),
                  .busy = operations_.has_sends()};
  ReceivePlan plan = plan_receive(message, *op.link, options_);
  if (plan.answer.protocol->start == Start::shares && !offer_key(op)) {
    message.sink_mapped = false;
    plan = plan_receive(message, *op.link, options_);
  }
  op.fragment_bytes = plan.fragment_bytes;
  switch (plan.answer.protocol->start) {
    case Start::finishes:
      op.state = Operation::State::fin_due;
      operations_.activate(op);
      ends_.step_fin(op);
      return;
    case Start::reads:
      if (op.link->railed && plan.answer.scheme == Scheme::get && rail_reader_.begin(op)) [[unlikely]]
        return;
      // progress() starts the read, not this function, which is a dozen calls deep: where the kernel guards
      // its own returns, the processor mispredicts every return that follows a system call, and progress()
      // has fewer of them.
      op.state = Operation::State::reading;
      operations_.activate(op);
      return;
    case Start::shares:
      op.helps = op.needs_fin = true;
      ++owner_.counters.mapped_both;
      break;
    case Start::fragments:
      ++owner_.counters.pipeline;
      if (op.link->railed && requests_.divide(op)) [[unlikely]]
        return;
      op.helps = plan.helps;
      break;
  }
  op.state = Operation::State::rtr_due;
  operations_.activate(op);
  requests_.ask(op);
}

}  // namespace stria::rndv
