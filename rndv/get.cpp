// The get scheme: the receiver reads the sender's memory through the announced key. Where the receiver's
// processor copies the bytes, it reads a slice at a time, so that other traffic goes on. The last message
// (FIN, with the key to invalidate) ends the sender's operation.
//
//   sender   fast_register ── RTS{length, op, key} ──►  receiver: match, get, get, …
//            complete, key dead ◄── FIN + invalidate ──  complete
//
// On a link with offload the last get and the FIN are one piece of work (get_finish). A get that the provider
// refuses (UNSUPPORTED) has moved nothing that has to be undone: a pipeline brings the bytes that are
// missing.
#include <algorithm>

#include "rndv/reader.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

/// The completion of every get that Reader starts. The operation is in the active list, or in that of the
/// helpers; the engine's next progress takes it on.
void Reader::on_get_done(stria_completion_t* completion, stria_status_t status) noexcept {
  auto& op = static_cast<RecvOp&>(*completion);
  op.in_flight = false;
  const Status done = transport::from_c(status);
  op.get_refused = done == Status::unsupported;
  if (done != Status::ok) op.get_sends_fin = false;
  if (op.failed) {
    if (op.state == Operation::State::receiving) return;  // help() or step_mapped_both() ends the operation
    op.state = Operation::State::fin_due;
  } else if (op.state == Operation::State::receiving) {
    tail_get_ended(op, done);
  } else if (done == Status::ok) {
    op.moved += op.slice_bytes;
  } else if (!op.get_refused) {
    op.outcome = outcome_of_get(done);
    op.state = Operation::State::fin_due;
  }
}

/// The provider refused the get: asks the sender for the missing bytes as fragments.
void Reader::request_fragments(RecvOp& op) noexcept {
  op.get_refused = false;
  ++owner_.counters.pipeline;
  owner_.refused(*op.link);
  if (op.link->railed && requests_.divide(op)) return;
  op.state = Operation::State::rtr_due;
  requests_.send_rtr(op);
}

/// The longest get that is started at once. A get by a network need not be cut into slices: the network moves
/// the bytes while the processor does something else, also while the application computes.
std::uint64_t Reader::longest_get(const RecvOp& op) const noexcept {
  constexpr std::uint64_t kByNetwork = 1u << 30;
  return op.link->distant ? kByNetwork : options_.pull_slice;
}

bool Reader::step_reading(RecvOp& op) noexcept {
  if (op.in_flight) return false;
  if (op.get_refused) {
    request_fragments(op);
    return true;
  }
  if (op.moved < op.length) {
    const std::uint64_t bytes = std::min(longest_get(op), op.length - op.moved);
    transport::Key key;
    op.key.copy_to(key);
    op.done = &Reader::on_get_done;
    op.slice_bytes = static_cast<std::uint32_t>(bytes);
    op.in_flight = true;
    const bool last = op.link->offload && op.moved + bytes == op.length;
    const transport::Payload local = transport::slice(op.memory, op.moved, bytes);
    Status status = Status::unsupported;
    if (last) {
      status = op.link->get_finish(local, key, op.moved, Finisher::fin_of(op), &op);
      op.get_sends_fin = status == Status::ok || status == Status::in_progress;
    }
    if (status == Status::unsupported) status = op.link->get(local, key, op.moved, &op);
    // Counts the message as a get only when a get moves something: a get that is refused at once does not
    // count.
    if (op.moved == 0 && (status == Status::ok || status == Status::in_progress))
      ++(op.link->can_map && transport::is_mapped(key) ? owner_.counters.mapped : owner_.counters.get);
    if (status == Status::in_progress) return true;
    op.in_flight = false;
    switch (status) {
      case Status::ok:
        op.moved += bytes;
        break;
      case Status::no_resource:
        return false;
      case Status::unsupported:
        request_fragments(op);
        return true;
      default:
        op.outcome = outcome_of_get(status);
        op.state = Operation::State::fin_due;
        break;
    }
  }
  if (op.state == Operation::State::reading && op.moved == op.length) {
    if (op.get_sends_fin) {
      finisher_.finish(op);
      return true;
    }
    op.state = Operation::State::fin_due;
  }
  if (op.state == Operation::State::fin_due) finisher_.step_fin(op);
  return true;
}

}  // namespace stria::rndv
