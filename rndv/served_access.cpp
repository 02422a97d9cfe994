// ServedAccess: puts and gets that the target's engine serves (served_access.hpp).
#include "rndv/served_access.hpp"

#include <algorithm>
#include <new>

#include "rndv/fragmenting.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

using transport::LinkRef;
using transport::Payload;

void ServedAccess::start_get(RecvOp& op, std::uint64_t region, std::uint64_t offset) noexcept {
  operations_.began(op);
  ++owner_.counters.fallbacks;
  op.peer_op = region;
  op.region_offset = offset;
  op.state = Operation::State::rma_due;
  operations_.activate(op);
  step(op);
}

void ServedAccess::start_put(SendOp& op, std::uint64_t region, std::uint64_t offset) noexcept {
  operations_.began(op);
  ++owner_.counters.fallbacks;
  op.peer_op = region;
  op.region_offset = offset;
  op.needs_fin = true;
  op.state = Operation::State::rma_due;
  operations_.activate(op);
  step(op);
}

// Sends the request of a put or get. Until it is sent, op.peer_op is the region, and op.region_offset the
// offset in it.
bool ServedAccess::step(Operation& op) noexcept {
  if (!operations_.give_name(op)) return false;
  const bool is_get = op.kind == Operation::Kind::recv;
  op.fragment_bytes = std::min(options_.fragment_bytes, op.link->packet_max());
  const wire::RmaBody body{op.region_offset, op.length, op.id, op.fragment_bytes, 0};
  const auto kind = is_get ? wire::Kind::rma_get : wire::Kind::rma_put;
  const Status sent = op.link->send_control(wire::make_header(kind, op.peer_op), &body, sizeof(body));
  if (sent == Status::no_resource) return false;
  if (sent != Status::ok) {
    op.outcome = sent;
    finisher_.finish(op);
    return true;
  }
  op.peer_op = 0;
  if (is_get) {
    op.tail = op.length;
    op.reassembly = nullptr;
  }
  op.state = is_get ? Operation::State::receiving : Operation::State::waiting;
  operations_.deactivate(op);
  return true;
}

void ServedAccess::serve_get(const LinkRef& link, std::uint64_t region, const wire::RmaBody& body,
                             const Payload& memory, Status status) noexcept {
  // A get of 0 bytes is refused, as no packet would end it.
  if (status == Status::ok &&
      (body.fragment_bytes == 0 || link.eager_max == 0 || body.length == 0 || body.length > wire::kPutting))
    status = Status::invalid;
  auto* op = status == Status::ok ? new (std::nothrow) SendOp : nullptr;
  if (op == nullptr) {
    finisher_.queue_fin(link, body.initiator_op, status == Status::ok ? Status::io_error : status);
    return;
  }
  operations_.began(*op);
  op->remote_half = true;
  op->link = &link;
  op->memory = memory;
  op->region = region;
  op->length = body.length;
  op->peer_op = body.initiator_op;
  choose_packing(*op, body.fragment_bytes);
  op->state = Operation::State::streaming;
  operations_.activate(*op);
  streamer_.step(*op);
}

void ServedAccess::serve_put(const LinkRef& link, std::uint64_t region, const wire::RmaBody& body,
                             const Payload& memory, Status status) noexcept {
  if (body.length == 0) {  // no fragment would end a put of 0 bytes
    finisher_.queue_fin(link, body.initiator_op, status);
    return;
  }
  auto* op = status == Status::ok ? new (std::nothrow) RecvOp : nullptr;
  if (op == nullptr) {
    finisher_.queue_fin(link, body.initiator_op, status == Status::ok ? Status::io_error : status);
    return;
  }
  operations_.began(*op);
  op->remote_half = true;
  op->needs_fin = true;
  op->link = &link;
  op->memory = memory;
  op->region = region;
  op->length = body.length;
  op->peer_op = body.initiator_op;
  op->state = Operation::State::rtr_due;
  operations_.activate(*op);
  requests_.send_rtr(*op);
}

}  // namespace stria::rndv
