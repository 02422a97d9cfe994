#include "rndv/putter.hpp"

#include <algorithm>
#include <utility>

#include "rndv/fragmenting.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

bool Putter::step(SendOp& op) noexcept {
  if (op.in_flight) return false;
  if (!op.failed && !op.unnotified) {
    Status status = std::exchange(op.outcome, Status::ok);  // the result of a put that ended meanwhile
    if (status == Status::ok) status = put_piece(op);
    if (status == Status::in_progress) return true;
    if (status == Status::no_resource) return false;
    put_ended(op, status);
  }
  if (op.failed) {
    finisher_.finish(op);
    return true;
  }
  return !op.unnotified || notify_of_piece(op);
}

/// Starts the put of the next piece. Any answer but in_progress and no_resource: the put has ended.
Status Putter::put_piece(SendOp& op) noexcept {
  // Tells the receiver that putting begins. Without room for this packet the receiver takes the sender for
  // silent, and reads the same bytes as well.
  if (!op.put_begun)
    static_cast<void>(op.link->send_control(wire::make_fragment(op.peer_op, wire::kPutting), nullptr, 0));
  op.put_begun = true;
  const std::uint64_t bytes = std::min<std::uint64_t>(op.fragment_bytes, op.length - op.moved);
  op.done = &Putter::on_put_done;
  op.in_flight = true;
  const Status status = op.link->put(transport::slice(op.memory, op.moved, bytes),
                                     op.key.sink_key(op.sink_key_bytes), op.moved, &op);
  op.in_flight = status == Status::in_progress;
  return status;
}

/// Tells the receiver that the piece at op.moved is put. False: there is no room for the packet.
bool Putter::notify_of_piece(SendOp& op) noexcept {
  const Status told = op.link->send_control(wire::make_fragment(op.peer_op, op.moved), nullptr, 0);
  if (told == Status::no_resource) return false;
  if (told != Status::ok) {
    op.outcome = told;
    finisher_.finish(op);
    return true;
  }
  op.unnotified = false;
  op.moved += std::min<std::uint64_t>(op.fragment_bytes, op.length - op.moved);
  if (op.moved == op.length) operations_.wait(op);
  return true;
}

/// Handles the result of a put; the operation is in the active list.
void Putter::put_ended(SendOp& op, Status status) noexcept {
  switch (status) {
    case Status::ok:
      op.unnotified = true;
      break;
    case Status::access_error:  // the receiver has all bytes, and has ended its key
      operations_.wait(op);
      break;
    case Status::unsupported:  // the rest of the sender's part goes as fragments
      owner_.refused(*op.link);
      op.sink_key_bytes = 0;
      op.fragment_bytes = fragment_length(op.fragment_bytes, fragment_max(op));
      break;
    default:
      op.outcome = status;
      op.failed = true;
      break;
  }
}

void Putter::on_put_done(stria_completion_t* completion, stria_status_t status) noexcept {
  auto& op = static_cast<SendOp&>(*completion);
  op.in_flight = false;
  if (op.failed) return;  // step() ends the operation
  op.unnotified = status == STRIA_OK;
  if (!op.unnotified) op.outcome = transport::from_c(status);
}

}  // namespace stria::rndv
