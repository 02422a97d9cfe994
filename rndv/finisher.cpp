#include "rndv/finisher.hpp"

#include <new>

namespace stria::rndv {

using transport::Header;
using transport::LinkRef;
using transport::Packet;

bool Finisher::is_held(const Operation& op) noexcept {
  if (op.kind == Operation::Kind::send)
    return op.zcopy_sends != 0 || (op.divided && op.pieces != nullptr) ||
           (op.has_rail_keys && op.rail_keys->is_awaited());
  return op.state == Operation::State::receiving && op.reassembly != nullptr && op.reassembly->is_placing();
}

/// Ends all keys of the send. A FIN that was sent with invalidate has ended the announced key already; a peer
/// that ended the operation in another way must not keep the key alive.
void Finisher::end_key(SendOp& op) noexcept {
  if (op.has_rail_keys) [[unlikely]]
    end_rail_keys(op);
  end_announced_key(op);
}

void Finisher::end_announced_key(SendOp& op) noexcept {
  if (op.key.bytes() == 0) return;
  transport::Key key;
  op.key.copy_to(key);
  static_cast<void>(op.link->invalidate(key));
  op.key.clear(pools_.keys);
}

[[gnu::cold, gnu::noinline]] void Finisher::end_division(RecvOp& op) noexcept {
  pools_.reassemblies.release(op.reassembly);
  pools_.divisions.release(op.division);
  op.divided = false;
}

void Finisher::finish(Operation& op) noexcept {
  operations_.deactivate(op);
  operations_.end_name(op);
  if (op.state == Operation::State::receiving) pools_.reassemblies.release(op.reassembly);
  op.state = Operation::State::idle;
  operations_.ended(op);
  if (op.kind == Operation::Kind::recv) {
    auto& recv = static_cast<RecvOp&>(op);
    if (op.sink_key_bytes != 0) [[unlikely]]
      end_offered_key(recv);
    if (recv.key.uses_block()) [[unlikely]]
      recv.key.clear(pools_.keys);
    if (op.divided) [[unlikely]]
      end_division(recv);
  }
  if (op.kind == Operation::Kind::send) {
    auto& send = static_cast<SendOp&>(op);
    end_key(send);
    if (op.remote_half) {
      delete &send;
    } else {
      owner_.sent(send);
    }
  } else if (op.remote_half) {
    delete &static_cast<RecvOp&>(op);
  } else {
    owner_.received(static_cast<RecvOp&>(op));
  }
}

void Finisher::end(Operation& op) noexcept {
  if (op.divided && op.kind == Operation::Kind::send) pieces_.stop(static_cast<SendOp&>(op));
  if (!is_held(op)) {
    finish(op);
    return;
  }
  if (op.kind == Operation::Kind::send)
    op.ending = true;
  else
    op.failed = true;
  operations_.hold(op);
}

void Finisher::end_receiving(RecvOp& op) noexcept {
  if (is_held(op)) [[unlikely]] {
    operations_.hold(op);
    return;
  }
  const bool sent = op.outcome == Status::ok && !op.needs_fin && tail_of(op) == op.length;
  if (op.failed || sent || op.peer_op == 0) {
    finish(op);
    return;
  }
  if (!op.divided)
    pools_.reassemblies.release(op.reassembly);
  else if (op.state == Operation::State::receiving)
    end_division(op);  // a receive that was read by rails has its keys there, which are still to be ended
  operations_.deactivate(op);
  op.state = Operation::State::fin_due;
  operations_.activate(op);
  step_fin(op);
}

bool Finisher::step_fin(RecvOp& op) noexcept {
  if (op.failed) {  // the link is dead, or the sender refused: no FIN is due
    finish(op);
    return true;
  }
  Header header = fin_of(op);
  if (op.divided) [[unlikely]] {
    if (!end_keys_by_rails(op)) return false;
    header.flags = pools_.divisions.reads(op.division).ended();
  }
  Status sent = Status::unsupported;
  if (op.key.bytes() != 0) {
    transport::Key key;
    op.key.copy_to(key);
    sent = op.link->send_invalidate(header, nullptr, 0, key);
  }
  // Where the packet cannot end the key, FIN goes alone, and the sender ends its key when FIN comes.
  if (sent == Status::unsupported || sent == Status::access_error)
    sent = op.link->send_control(header, nullptr, 0);
  if (sent == Status::no_resource) return false;
  finish(op);
  return true;
}

bool Finisher::queue_fin(const LinkRef& link, wire::OpId peer_op, Status status) noexcept {
  auto* op = new (std::nothrow) RecvOp;
  if (op == nullptr) return false;
  operations_.began(*op);
  op->remote_half = true;
  op->link = &link;
  op->peer_op = peer_op;
  op->outcome = status;
  op->state = Operation::State::fin_due;
  operations_.activate(*op);
  step_fin(*op);
  return true;
}

void Finisher::on_fin(const LinkRef& link, const Packet& packet) noexcept {
  Operation* op = operations_.ended_by(*packet.header);
  const auto status = static_cast<std::int32_t>(packet.header->immediate);
  if (op == nullptr || op->link != &link) return;
  // A receiver that has a key may have read the bytes that this worker is about to send, and any receiver may
  // refuse the message: so a FIN may come while the send is streaming.
  const bool streams =
      op->state == Operation::State::streaming && (static_cast<SendOp*>(op)->key.bytes() != 0 || status != 0);
  const bool expects = op->kind == Operation::Kind::send ? op->state == Operation::State::waiting || streams
                                                         : op->state == Operation::State::receiving;
  if (!expects) return;
  const bool known = status <= 0 && status >= static_cast<int>(Status::io_error);
  const auto outcome = known ? static_cast<Status>(status) : Status::invalid;
  // A receive under way is ended by a FIN only when the peer refuses to send.
  if (op->kind == Operation::Kind::recv && outcome == Status::ok) return;
  if (op->ending) return;
  op->outcome = outcome;
  if (op->in_flight) {
    op->failed = true;  // the completion of its get or put ends the operation
    return;
  }
  if (op->kind == Operation::Kind::send && op->has_rail_keys) [[unlikely]]
    await_rail_keys(static_cast<SendOp&>(*op), packet.header->flags);
  end(*op);
}

void Finisher::abandon(SendOp& op) noexcept {
  if (op.state == Operation::State::idle) return;
  operations_.deactivate(op);
  operations_.end_name(op);
  end_key(op);
  op.state = Operation::State::idle;
  op.peer_op = 0;
  operations_.ended(op);
}

void Finisher::end_all(Status why) noexcept {
  while (Operation* op = operations_.first_of_lists()) {
    if (op->kind == Operation::Kind::send) {
      auto& send = static_cast<SendOp&>(*op);
      if (send.divided) pieces_.drop(send);
      if (send.has_rail_keys) pools_.rail_keys.release(*send.rail_keys);
      send.has_rail_keys = false;
      send.key.clear(pools_.keys);
    }
    op->sink_key_bytes = 0;  // the key went with the provider
    op->outcome = why;
    finish(*op);
  }
}

std::uint64_t Finisher::fail_link(const LinkRef& link, Status why) noexcept {
  // Ending an operation calls the owner, which may start and end others. So all operations of the link are
  // moved to `doomed` first, and ended afterwards.
  IntrusiveList<Operation> doomed;
  const auto doom = [&](Operation& op) {
    if (op.link != &link) return;
    if (op.kind == Operation::Kind::send && op.has_rail_keys && op.rail_keys->is_awaited()) {
      end_rail_keys(static_cast<SendOp&>(op));
      is_held(op) ? operations_.hold(op) : operations_.move_to(doomed, op);
      return;
    }
    if (op.ending) return;
    if (op.divided && op.kind == Operation::Kind::send) pieces_.stop(static_cast<SendOp&>(op));
    const bool waits = op.in_flight || is_held(op);
    if (waits && op.failed) return;
    op.outcome = why;
    if (op.in_flight) {
      op.failed = true;  // the completion of its get or put ends the operation
      return;
    }
    if (waits) {
      end(op);
      return;
    }
    operations_.move_to(doomed, op);
  };
  std::uint64_t steps = operations_.for_each_named(doom);
  steps += operations_.for_each_active(doom);  // some active operations have no name
  for (; Operation* op = doomed.front(); ++steps) finish(*op);
  return steps;
}

}  // namespace stria::rndv
