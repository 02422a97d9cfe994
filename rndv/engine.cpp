#include "rndv/engine.hpp"

#include <cstring>

namespace stria::rndv {

using transport::LinkRef;
using transport::Packet;

Engine::Engine(const Options& options, const Events& events) noexcept
    : options_(options),
      owner_(events),
      finisher_(operations_, pools_, pieces_, owner_),
      pieces_({&finisher_,
               [](void* finisher, SendOp& op, Status why) noexcept {
                 static_cast<Finisher*>(finisher)->end_sending(op, why);
               },
               [](void* finisher, SendOp& op) noexcept { static_cast<Finisher*>(finisher)->end(op); }}),
      putter_(operations_, finisher_, owner_),
      streamer_(common(), pools_.keys, pieces_, putter_),
      announcer_(options_, operations_, pools_.keys, finisher_),
      requests_(common(), pools_.divisions),
      fragments_(operations_, pools_.reassemblies, finisher_, requests_),
      reader_(common(), requests_),
      rail_keys_(operations_, pools_.rail_keys, finisher_),
      rail_reader_(common(), pools_, requests_),
      acceptor_(options_, {operations_, pools_.keys, finisher_, requests_, rail_reader_, owner_}),
      served_(common(), streamer_, requests_) {}

bool Engine::confirm_match(const LinkRef& link, wire::SyncName name) noexcept {
  const Status sent = link.send_control(wire::make_header(wire::Kind::fin, name), nullptr, 0);
  return sent != Status::no_resource || finisher_.queue_fin(link, name, Status::ok);
}

bool Engine::parse_announcement(const Packet& packet, Announcement& out) noexcept {
  wire::RtsBody rts;
  if (packet.bytes < sizeof(rts)) return false;
  std::memcpy(&rts, packet.payload, sizeof(rts));
  if (rts.key_bytes > sizeof(out.key.data) || packet.bytes != sizeof(rts) + rts.key_bytes) return false;
  out.length = rts.length;
  out.sender_op = rts.sender_op;
  out.blocks = {rts.block_bytes, rts.sparse != 0, rts.turned != 0};
  out.key.bytes = rts.key_bytes;
  std::memcpy(out.key.data, static_cast<const std::byte*>(packet.payload) + sizeof(rts), rts.key_bytes);
  return true;
}

bool Engine::step(Operation& op) noexcept {
  using State = Operation::State;
  switch (op.state) {
    case State::reading:
      return op.divided ? rail_reader_.step(static_cast<RecvOp&>(op))
                        : reader_.step_reading(static_cast<RecvOp&>(op));
    case State::rtr_due:
      return requests_.send_rtr(static_cast<RecvOp&>(op));
    case State::rma_due:
      return served_.step(op);
    case State::streaming:
      return streamer_.step(static_cast<SendOp&>(op));
    case State::fin_due:
      return finisher_.step_fin(static_cast<RecvOp&>(op));
    case State::receiving:
      // An active receive that is not divided is mapped by both (mapped_both.cpp): others are not active.
      return op.divided ? requests_.ask_for_pieces(static_cast<RecvOp&>(op))
                        : reader_.step_mapped_both(static_cast<RecvOp&>(op));
    case State::waiting:
      return op.has_rail_keys && rail_keys_.step(static_cast<SendOp&>(op));
    case State::idle:
    case State::announce:
      break;
  }
  return false;
}

void Engine::on_fin(const LinkRef& link, const Packet& packet) noexcept {
  if (link.railed && owner_.has_rails()) [[unlikely]] {
    // The receiver of a long message may not know this worker's address, and then cannot connect rails. So
    // the sender connects them here, for the next long message.
    const Operation* const op = operations_.ended_by(*packet.header);
    if (op != nullptr && op->kind == Operation::Kind::send && op->link == &link &&
        static_cast<std::uint64_t>(op->memory.length) >= options_.rails_from)
      static_cast<void>(owner_.rails(link));
  }
  finisher_.on_fin(link, packet);
}

unsigned Engine::progress() noexcept {
  unsigned moved = 0;
  operations_.begin_round();
  while (Operation* op = operations_.next_of_round()) moved += step(*op) ? 1 : 0;
  if (!operations_.helpers().empty()) moved += reader_.help() ? 1 : 0;
  if (!pieces_.resting()) [[unlikely]]
    moved += pieces_.progress();
  return moved;
}

}  // namespace stria::rndv
