#include "rndv/acceptor.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "rndv/sharing.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

using transport::LinkRef;

std::uint32_t Acceptor::fragment_of(const Question& question, const LinkRef& link) const noexcept {
  return options_.fragment_fixed
             ? options_.fragment_bytes
             : fragment_on_link(question, options_.fragment_bytes, link.eager_max, link.zcopy_max());
}

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
  Question question{
      .length = op.length,
      .source_block = announcement.block_bytes,
      .sink_block = transport::mean_block(op.memory),
      .can_get = op.link->can_get && op.key.bytes() != 0,
      .force = options_.force,
      .source_sparse = announcement.sparse,
      .sink_sparse = transport::is_sparse(op.memory),
      .turned = announcement.turned || transport::turned_bytes(op.memory) != 0,
      .far = op.link->far,
      .flows = options_.flows,
      .busy = !op.link->offload && operations_.has_sends(),
      .offload = op.link->offload,
      .distant = op.link->distant && !op.link->offload,
      .grows = op.link->grows,
      .self = op.link->self,
      .mapped = op.link->can_map && op.key.bytes() != 0 && transport::is_mapped(announcement.key),
      .sink_mapped = true};  // assumed; offer_key() finds out below
  // The provider learns how far the peer's caches are only from messages that come through the provider's own
  // memory. So one receive in kTryNearEvery of a far peer is chosen as for a near one.
  constexpr unsigned kTryNearEvery = 16;
  if (question.far && ++tries_ % kTryNearEvery == 0) question.far = false;
  question.can_share = can_share(options_, *op.link);
  Answer answer = choose(question);
  if (answer.scheme == Scheme::mapped_both && !offer_key(op)) {
    question.can_share = false;
    answer = choose(question);
  }
  switch (answer.scheme) {
    case Scheme::none:
      op.state = Operation::State::fin_due;
      operations_.activate(op);
      ends_.step_fin(op);
      return;
    case Scheme::get:
      if (op.link->railed && rail_reader_.begin(op)) [[unlikely]]
        return;
      [[fallthrough]];
    case Scheme::mapped:
      // progress() starts the read, not this function, which is a dozen calls deep: where the kernel guards
      // its own returns, the processor mispredicts every return that follows a system call, and progress()
      // has fewer of them.
      op.state = Operation::State::reading;
      operations_.activate(op);
      return;
    case Scheme::mapped_both:
      op.fragment_bytes = piece_of(question);
      op.helps = op.needs_fin = true;
      op.state = Operation::State::rtr_due;
      ++owner_.counters.mapped_both;
      break;
    case Scheme::pipeline:
      op.fragment_bytes = fragment_of(question, *op.link);
      ++owner_.counters.pipeline;
      if (op.link->railed && requests_.divide(op)) [[unlikely]]
        return;
      op.helps = can_help(question, answer);
      op.state = Operation::State::rtr_due;
      break;
  }
  operations_.activate(op);
  requests_.ask(op);
}

}  // namespace stria::rndv
