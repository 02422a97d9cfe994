#include "rndv/fragments.hpp"

#include "base/log.hpp"
#include "rndv/cost_model.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

using transport::LinkRef;
using transport::Packet;

/// Whether the receive asked for these bytes, and has none of them. A divided receive must have asked for
/// them by the link that they come by (`rail`; null: the main link).
bool Fragments::is_wanted(const RecvOp& op, const LinkRef* rail, std::uint64_t place,
                          std::uint64_t bytes) noexcept {
  const std::uint64_t end = op.sink_key_bytes == 0 ? op.length : senders_part(op.length, op.fragment_bytes);
  return place >= op.moved && place < end && bytes <= end - place &&
         (op.reassembly == nullptr || !op.reassembly->overlaps(place, place + bytes)) &&
         (!op.divided || requests_.expects(op, rail, place, bytes));
}

FragmentOutcome Fragments::on_frag(const LinkRef& link, const Packet& packet, const LinkRef* rail) noexcept {
  Operation* found = operations_.find(packet.header->tag, Operation::Kind::recv, link);
  if (found == nullptr || found->state != Operation::State::receiving || found->outcome != Status::ok)
    return FragmentOutcome::handled;
  auto& op = static_cast<RecvOp&>(*found);
  const std::uint64_t place = wire::place_of(*packet.header);
  std::uint64_t bytes = packet.bytes;
  if (bytes == 0) [[unlikely]] {
    op.put_begun = true;
    if (place == wire::kPutting) return FragmentOutcome::handled;
    if (op.sink_key_bytes != 0) bytes = op.fragment_bytes;
  }
  if (bytes == 0 || !is_wanted(op, rail, place, bytes)) [[unlikely]] {
    log::debug("a fragment of {} bytes at {} does not fit a receive that has {} of {} bytes", packet.bytes,
               place, op.moved, op.length);
    refuse_fragments(op);
    return FragmentOutcome::misfit;
  }
  if (packet.bytes != 0) {
    const transport::Arrival came = transport::take(transport::slice(op.memory, place, bytes), packet);
    // If the sender died while it wrote the fragment, the receive ends with the link.
    if (came != transport::Arrival::whole) [[unlikely]]
      return came == transport::Arrival::later ? FragmentOutcome::later : FragmentOutcome::handled;
  }
  return note_received(op, rail, place, bytes) ? FragmentOutcome::handled : FragmentOutcome::misfit;
}

/// Notes that these bytes are in the receive's memory. False: they cannot be noted, and the receive ends.
bool Fragments::note_received(RecvOp& op, const LinkRef* rail, std::uint64_t place,
                              std::uint64_t bytes) noexcept {
  if (place == op.moved && op.reassembly == nullptr) [[likely]] {
    op.moved += bytes;
  } else if (!reassemblies_.note_received(op.reassembly, op.moved, place, place + bytes)) [[unlikely]] {
    log::error("a receive of {} bytes ends: its fragments leave more than {} gaps, or memory is out",
               op.length, Reassembly::kMaxRanges);
    refuse_fragments(op);
    return false;
  }
  op.link->silence.heard = true;
  if (op.divided) [[unlikely]]
    requests_.note_received(op, rail != nullptr ? *rail : *op.link, place, bytes);
  else
    check_complete(op);
  return true;
}

/// Ends the receive when every byte that fragments bring is there. A receive that is mapped by both, and not
/// complete, is activated: it reads on from the end.
void Fragments::check_complete(RecvOp& op) noexcept {
  if (op.moved >= tail_of(op) && !op.in_flight)
    finisher_.end_receiving(op);
  else if (op.sink_key_bytes != 0)
    operations_.activate(op);
}

/// Ends the receive with io_error, once no get of it is in flight.
void Fragments::refuse_fragments(RecvOp& op) noexcept {
  op.outcome = Status::io_error;
  if (!op.in_flight) finisher_.end_receiving(op);
}

}  // namespace stria::rndv
