#include "rndv/rail_reader.hpp"

#include <cstring>

#include "base/log.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

using transport::Key;
using transport::LinkRef;
using transport::Packet;

bool RailReader::begin(RecvOp& op) noexcept {
  if (op.length < options_.rails_from || !owner_.has_rails()) return false;
  if (owner_.rails(*op.link).empty() || !operations_.give_name(op)) return false;
  const std::uint32_t number = pools_.divisions.acquire(true);
  if (number == 0) return false;
  op.division = number;
  op.divided = op.needs_fin = true;
  op.tail = op.length;
  op.reassembly = nullptr;
  op.state = Operation::State::reading;
  operations_.activate(op);
  return true;
}

bool RailReader::step(RecvOp& op) noexcept {
  const bool goes_on = !op.failed && op.outcome == Status::ok;
  const bool is_refused = pools_.divisions.reads(op.division).get_refused;
  if (!goes_on || is_refused) {
    if (op.in_flight) return false;
    goes_on ? request_fragments(op) : finisher_.end_receiving(op);
    return true;
  }
  bool any = false;
  if (op.moved < op.length) {
    const Rails rails = owner_.rails(*op.link);
    any = ask_for_keys(op, rails);
    any |= start_gets(op, rails);
  }
  if (op.moved < op.length) return any;
  finisher_.end_receiving(op);
  return true;
}

/// Asks the sender for a key by each rail that can read and was not asked yet. A rail that is not up yet has
/// no room for the request.
bool RailReader::ask_for_keys(RecvOp& op, Rails rails) noexcept {
  using State = RailReads::Rail::State;
  RailReads& reads = pools_.divisions.reads(op.division);
  bool any = false;
  for (const LinkRef* const rail : rails) {
    if (!rail->can_get || reads.find(*rail) != nullptr) continue;
    const wire::AskKeyBody body{op.id};
    const Status sent =
        rail->send_control(wire::make_ask_key(op.peer_op, reads.next_number()), &body, sizeof body);
    if (sent == Status::no_resource) continue;
    reads.add(*rail, sent == Status::ok ? State::asked : State::left_out);
    any = true;
  }
  return any;
}

/// Begins gets by the links that are free, one by each link in turn, until each link has Division::kDepth.
bool RailReader::start_gets(RecvOp& op, Rails rails) noexcept {
  Division& division = pools_.divisions[op.division];
  RailReads& reads = pools_.divisions.reads(op.division);
  const std::size_t links = rails.size() + 1;
  Key main;
  op.key.copy_to(main);
  bool any = false;
  for (unsigned depth = 1; depth <= Division::kDepth; ++depth) {
    for (std::size_t i = 0; i < links; ++i) {
      const LinkRef& link = i == 0 ? *op.link : *rails[i - 1];
      const RailReads::Rail* const rail = i == 0 ? nullptr : reads.find(link);
      if (i != 0 && (rail == nullptr || rail->state != RailReads::Rail::State::open)) continue;
      if (!division.has_room(link, depth)) continue;
      const std::uint64_t most =
          piece_bytes(division.free_at_most(op.moved, op.length), links, options_.piece_bytes);
      const Division::Range range = division.next(op.moved, op.reassembly, op.length, most);
      if (range.empty()) return any;
      any |= start_get(op, link, rail != nullptr ? rail->key : main, range);
      if (op.outcome != Status::ok || reads.get_refused) return true;
    }
  }
  return any;
}

/// Begins one get. False: the link has no room for it.
bool RailReader::start_get(RecvOp& op, const LinkRef& link, const Key& key,
                           const Division::Range& range) noexcept {
  RailReads& reads = pools_.divisions.reads(op.division);
  pools_.divisions[op.division].assign(link, range);
  GetPiece& piece = reads.begin_get();
  op.in_flight = true;
  piece.done = &RailReader::on_get_done;
  piece.reader = this;
  piece.op = &op;
  piece.link = &link;
  piece.range = range;
  const transport::Payload local = transport::slice(op.memory, range.begin, range.end - range.begin);
  const Status status = link.get(local, key, range.begin, &piece);
  // Counts the message as a get only when a get moves something: a get that is refused at once does not
  // count.
  if (!reads.counted && (status == Status::ok || status == Status::in_progress)) {
    reads.counted = true;
    ++owner_.counters.get;
  }
  if (status != Status::in_progress) get_ended(piece, status);
  return status != Status::no_resource;
}

/// The completion of a get. The operation is in the active list, so step() takes it on.
void RailReader::on_get_done(stria_completion_t* completion, stria_status_t status) noexcept {
  auto& piece = static_cast<GetPiece&>(*completion);
  piece.reader->get_ended(piece, transport::from_c(status));
}

/// The get has ended, so nothing writes the memory of its piece any more. When the operation has failed, its
/// links may be gone.
void RailReader::get_ended(GetPiece& piece, Status status) noexcept {
  RecvOp& op = *piece.op;
  const LinkRef& link = *piece.link;
  const Division::Range range = piece.range;
  RailReads& reads = pools_.divisions.reads(op.division);
  reads.end_get(piece);
  op.in_flight = reads.any_in_flight();
  if (op.failed) return;
  Division& division = pools_.divisions[op.division];
  if (status != Status::ok) {
    division.release(link, range);
    if (status != Status::no_resource) get_failed(op, link, status);
    return;
  }
  division.note_received(link, range.begin, range.end - range.begin);
  if (&link != op.link) ++owner_.counters.by_rails;
  if (pools_.reassemblies.note_received(op.reassembly, op.moved, range.begin, range.end)) return;
  log::error("a receive of {} bytes ends: out of memory for the order of its pieces", op.length);
  op.outcome = Status::io_error;
}

/// A get by the link was refused, or ended with an error.
void RailReader::get_failed(RecvOp& op, const LinkRef& link, Status status) noexcept {
  RailReads& reads = pools_.divisions.reads(op.division);
  if (&link != op.link) {
    log::debug("a rail is left out of a message of {} bytes: a get by it ended with {}", op.length,
               to_string(status));
    reads.leave_out(link);
    if (status == Status::unsupported) owner_.refused_by_rail(*op.link, link);
  } else if (status == Status::unsupported) {
    reads.get_refused = true;
  } else if (op.outcome == Status::ok) {
    op.outcome = outcome_of_get(status);
  }
}

/// The main link refused a get: asks for the missing bytes as fragments.
void RailReader::request_fragments(RecvOp& op) noexcept {
  ++owner_.counters.pipeline;
  owner_.refused(*op.link);
  requests_.continue_in_pieces(op);
}

bool RailReader::on_rail_key(const LinkRef& link, const Packet& packet, const LinkRef* rail) noexcept {
  if (rail == nullptr || packet.bytes > STRIA_PROVIDER_KEY_MAX) return false;
  Operation* const found = operations_.find(packet.header->tag, Operation::Kind::recv, link);
  if (found == nullptr || found->failed || found->outcome != Status::ok) return true;
  // A receive that reads no more may have asked for this key before.
  if (!found->divided || found->state != Operation::State::reading)
    return found->divided || found->state == Operation::State::fin_due;
  RailReads& reads = pools_.divisions.reads(static_cast<RecvOp*>(found)->division);
  RailReads::Rail* const of_rail = reads.find(*rail);
  if (of_rail == nullptr) return false;
  if (of_rail->state == RailReads::Rail::State::left_out) return true;
  if (of_rail->state != RailReads::Rail::State::asked) return false;
  of_rail->key.bytes = packet.bytes;
  if (packet.bytes != 0) std::memcpy(of_rail->key.data, packet.payload, packet.bytes);
  of_rail->state = packet.bytes != 0 ? RailReads::Rail::State::open : RailReads::Rail::State::left_out;
  return true;
}

void RailReader::fail_rail(const LinkRef& link, const LinkRef& rail) noexcept {
  operations_.for_each_named([&](Operation& op) {
    const bool is_read = op.kind == Operation::Kind::recv && op.divided && op.link == &link &&
                         (op.state == Operation::State::reading || op.state == Operation::State::fin_due);
    if (is_read) pools_.divisions.reads(static_cast<RecvOp&>(op).division).rail_died(rail);
  });
}

}  // namespace stria::rndv
