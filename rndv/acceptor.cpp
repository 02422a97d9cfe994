#include "rndv/acceptor.hpp"

#include "base/assert.hpp"
#include "base/log.hpp"
#include "rndv/plan.hpp"
#include "rndv/protocols/list.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

using transport::LinkRef;

void ReceiveStarter::finish_empty(RecvOp& op) const noexcept {
  op.state = Operation::State::fin_due;
  operations.activate(op);
  finisher.step_fin(op);
}

void ReceiveStarter::start_reading(RecvOp& op) const noexcept {
  // progress() starts the read, not this function, which is a dozen calls deep: where the kernel guards its
  // own returns, the processor mispredicts every return that follows a system call, and progress() has fewer
  // of them.
  op.state = Operation::State::reading;
  operations.activate(op);
}

bool ReceiveStarter::offer_key(RecvOp& op) const noexcept {
  transport::Key key;
  if (op.memory.offset != 0) return false;  // a key covers the memory from its beginning, not from an offset
  if (op.link->fast_register(op.memory, STRIA_ACCESS_REMOTE_WRITE | STRIA_REGISTER_MAPPED, key) != Status::ok)
    return false;
  const bool fits = op.link->pio_below > sizeof(wire::RtrBody) + key.bytes;
  if (!fits || !op.key.set_sink_key(keys, key.data, key.bytes)) {
    static_cast<void>(op.link->invalidate(key));
    return false;
  }
  op.sink_key_bytes = static_cast<std::uint8_t>(key.bytes);
  return true;
}

void ReceiveStarter::send_rtr(RecvOp& op) const noexcept {
  op.state = Operation::State::rtr_due;
  operations.activate(op);
  requests.send_rtr(op);
}

/// False: nothing began, as the sender does not map the memory of the receive.
bool Acceptor::begin(RecvOp& op, const ReceivePlan& plan) const noexcept {
  op.fragment_bytes = plan.fragment_bytes;
  bool began = false;
  Protocols::call(plan.choice.protocol,
                  [&](const auto& taken) noexcept { began = taken.receive.begin(starter_, op, plan); });
  return began;
}

void Acceptor::accept(RecvOp& op, const Announcement& announcement) noexcept {
  starter_.operations.began(op);
  op.peer_op = announcement.sender_op;
  if (!op.key.set(starter_.keys, announcement.key)) [[unlikely]]
    log::debug("out of memory for a key of {} bytes; its message comes as fragments", announcement.key.bytes);
  Message message{.length = op.length,
                  .source = announcement.blocks,
                  .sink = blocks_in(op.memory),
                  .has_key = op.key.bytes() != 0,
                  .source_mapped = op.link->can_map && transport::is_mapped(announcement.key),
                  .busy = starter_.operations.has_sends()};
  if (begin(op, plan_receive(message, *op.link, options_))) return;
  message.sink_mapped = false;
  [[maybe_unused]] const bool began = begin(op, plan_receive(message, *op.link, options_));
  STRIA_ASSERT(began, "memory that the sender does not map is received by another protocol");
}

}  // namespace stria::rndv
