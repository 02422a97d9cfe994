#include "rndv/engine.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/log.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

using transport::Header;
using transport::LinkRef;
using transport::Packet;

Engine::Engine(const Options& options, const Events& events) noexcept
    : options_(options),
      events_(events),
      pieces_({this,
               [](void* self, SendOp& op, Status why) noexcept {
                 static_cast<Engine*>(self)->end_sending(op, why);
               },
               [](void* self, SendOp& op) noexcept { static_cast<Engine*>(self)->end(op); }}) {}

Engine::~Engine() {
  while (spare_ahead_ != nullptr) delete std::exchange(spare_ahead_, spare_ahead_->next);
}

bool Engine::name(Operation& op) noexcept {
  if (op.id != 0) return true;
  try {
    op.id = table_.insert(&op);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void Engine::began(Operation& op) noexcept {
  ++live_;
  if (op.kind == Operation::Kind::send) {
    ++sends_;
    ++sends_begun_;
  } else {
    op.sends_before = static_cast<std::uint8_t>(sends_begun_ - (sends_ != 0));
  }
}

void Engine::ended(const Operation& op) noexcept {
  --live_;
  if (op.kind == Operation::Kind::send)
    --sends_;
  else
    both_ways_ = op.sends_before != sends_begun_;
  if (op.length >= Rewriting::kLeast) rewriting_.seen(Rewriting::Clock::now());
}

void Engine::activate(Operation& op) noexcept {
  if (!op.active) activate_in(active_, op);
}

/// The list is one of those that an operation leaves by deactivate().
void Engine::activate_in(IntrusiveList<Operation>& list, Operation& op) noexcept {
  op.active = true;
  list.push_back(&op);
}

void Engine::deactivate(Operation& op) noexcept {
  if (!op.active) return;
  op.active = false;
  op.unlink();
}

Operation* Engine::find(wire::OpId id, Operation::Kind kind, const LinkRef& link) noexcept {
  Operation* op = table_.find(id);
  if (op == nullptr || op->kind != kind || op->link != &link) {
    log::debug("a packet names operation {:#x}, which is not under way on its link; dropped", id);
    return nullptr;
  }
  return op;
}

void Engine::finish(Operation& op) noexcept {
  deactivate(op);
  if (op.id != 0) {
    table_.erase(op.id);
    op.id = 0;
  }
  if (op.state == Operation::State::receiving) drop_ahead(static_cast<RecvOp&>(op));
  op.state = Operation::State::idle;
  ended(op);
  if (op.kind == Operation::Kind::recv) {
    auto& recv = static_cast<RecvOp&>(op);
    if (op.sink_key_bytes != 0) [[unlikely]]
      end_offered_key(recv);
    if (recv.key.is_outside()) [[unlikely]]
      recv.key.clear(keys_);
    if (op.divided) [[unlikely]]
      end_division(recv);
  }
  if (op.kind == Operation::Kind::send) {
    auto& send = static_cast<SendOp&>(op);
    if (send.key.bytes() != 0) {
      // The last message invalidated the key; a peer that ended the operation without it must not keep it
      // alive.
      transport::Key key;
      send.key.copy_to(key);
      static_cast<void>(send.link->invalidate(key));
      send.key.clear(keys_);
    }
    if (op.remote_half) {
      delete &send;
    } else {
      events_.sent(events_.self, send);
    }
  } else if (op.remote_half) {
    delete &static_cast<RecvOp&>(op);
  } else {
    events_.received(events_.self, static_cast<RecvOp&>(op));
  }
}

/// False: the provider has none, or one that does not fit the link's packets; or there is no memory for it.
bool Engine::give_key(SendOp& op, unsigned access) noexcept {
  transport::Key key;
  if (op.link->fast_register(op.memory, access, key) != Status::ok) return false;
  const std::uint32_t most = std::max(op.link->pio_below, op.link->eager_max + 1) - 1;
  if (sizeof(wire::RtsBody) + key.bytes <= most && op.key.set(keys_, key)) return true;
  log::debug("a key of {} bytes is not announced: packets of the link have up to {}", key.bytes, most);
  static_cast<void>(op.link->invalidate(key));
  return false;
}

Status Engine::announce(SendOp& op, const Header& header) noexcept {
  using transport::mean_block;
  const std::uint32_t block = mean_block(op.memory);
  const bool sparse = transport::is_sparse(op.memory);
  if (op.state == Operation::State::idle) {
    if (!name(op)) return Status::no_resource;
    op.state = Operation::State::announce;
    began(op);
    op.written = op.length >= Rewriting::kLeast && rewriting_.may_be_new(op.length, Rewriting::Clock::now());
    // A key is worth its registration only where a get could win, or help, with the best of sinks.
    // Without a window the announcement has no room for a hint: it is to be small (wire::kSmall).
    unsigned access = STRIA_ACCESS_REMOTE_READ;
    if (op.link->can_map && op.link->pio_below != 0) access |= STRIA_REGISTER_HINT;
    op.gathered = false;
    Question best{.length = op.length,
                  .source_block = block,
                  .can_get = op.link->can_get,
                  .force = options_.force,
                  .source_sparse = sparse,
                  .offload = op.link->offload,
                  .self = op.link->self};
    if (op.link->gathers && block != 0) {
      best.source_gathered = true;
      op.gathered = choose(best).scheme == Scheme::get && give_key(op, access | STRIA_REGISTER_GATHERED);
      best.source_gathered = false;
    }
    const Answer answer = choose(best);
    bool pays = answer.scheme == Scheme::get || can_help(best, answer);
    if (!pays && op.link->can_map) {
      best.can_get = false;
      best.mapped = best.sink_mapped = true;
      best.can_share = can_share(*op.link, true);
      const Scheme by_loads = choose(best).scheme;
      pays = by_loads == Scheme::mapped || by_loads == Scheme::mapped_both;
      access |= STRIA_REGISTER_MAPPED;
    }
    if (pays && !op.gathered) give_key(op, access);
  }
  struct {
    wire::RtsWords rts;
    std::uint8_t key[STRIA_PROVIDER_KEY_MAX];
  } body;
  body.rts = wire::rts_words(op.length, op.id, op.gathered ? 0 : block,
                             static_cast<std::uint8_t>(op.key.bytes()), sparse && !op.gathered,
                             transport::turned_bytes(op.memory) != 0 && !op.gathered, op.written);
  op.key.copy_bytes_to(body.key);
  const Status sent =
      op.link->send_control(header, &body, static_cast<std::uint32_t>(sizeof(body.rts) + op.key.bytes()));
  if (sent == Status::ok) {
    op.state = Operation::State::waiting;
    return sent;
  }
  if (sent != Status::no_resource) abandon(op);
  return sent;
}

void Engine::abandon(SendOp& op) noexcept {
  if (op.state == Operation::State::idle) return;
  deactivate(op);
  if (op.id != 0) table_.erase(op.id);
  op.id = 0;
  if (op.key.bytes() != 0) {
    transport::Key key;
    op.key.copy_to(key);
    static_cast<void>(op.link->invalidate(key));
    op.key.clear(keys_);
  }
  op.state = Operation::State::idle;
  op.peer_op = 0;
  ended(op);
}

std::uint8_t Engine::await_match(SendOp& op, std::uint16_t sequence) noexcept {
  try {
    op.id = table_.insert_low(&op);
  } catch (const std::bad_alloc&) {
    return 0;
  }
  if (op.id == 0) return 0;
  Header header = wire::make_header(wire::Kind::sync, 0);
  header.sequence = sequence;
  header.flags = static_cast<std::uint8_t>(static_cast<std::uint32_t>(op.id) + 1);
  op.peer_op = wire::sync_name(header);
  op.state = Operation::State::waiting;
  began(op);
  return header.flags;
}

bool Engine::confirm_match(const LinkRef& link, wire::SyncName name) noexcept {
  const Status sent = link.send_control(wire::make_header(wire::Kind::fin, name), nullptr, 0);
  return sent != Status::no_resource || owe_fin(link, name, Status::ok);
}

bool Engine::parse_announcement(const Packet& packet, Announcement& out) noexcept {
  wire::RtsBody rts;
  if (packet.bytes < sizeof(rts)) return false;
  std::memcpy(&rts, packet.payload, sizeof(rts));
  if (rts.key_bytes > sizeof(out.key.data) || packet.bytes != sizeof(rts) + rts.key_bytes) return false;
  out.length = rts.length;
  out.sender_op = rts.sender_op;
  out.block_bytes = rts.block_bytes;
  out.sparse = rts.sparse != 0;
  out.turned = rts.turned != 0;
  out.written = rts.written != 0;
  out.key.bytes = rts.key_bytes;
  std::memcpy(out.key.data, static_cast<const std::byte*>(packet.payload) + sizeof(rts), rts.key_bytes);
  return true;
}

void Engine::accept(RecvOp& op, const Announcement& announcement) noexcept {
  began(op);
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
      .written = announcement.written,
      .busy = !op.link->offload && (sends_ != 0 || both_ways_),
      .offload = op.link->offload,
      .grows = op.link->grows,
      .self = op.link->self,
      .mapped = op.link->can_map && op.key.bytes() != 0 && transport::is_mapped(announcement.key),
      .sink_mapped = true};  // until there is no such key to it
  // Only what comes through the provider's own memory shows it how far the peer is: where that matters, some
  // does. Mapped memory that is sent again as it was is read the same way, near or far.
  constexpr unsigned kTry = 16;
  const bool matters = question.far || (question.mapped && question.written);
  if (matters && ++tries_ % kTry == 0) {
    question.far = false;
    if (question.written) question.mapped = false;
  }
  question.can_share = can_share(*op.link, question.mapped);
  Answer answer = choose(question);
  if ((answer.scheme == Scheme::both || answer.scheme == Scheme::mapped_both) &&
      !offer_key(op, question.mapped)) {
    question.can_share = false;
    answer = choose(question);
  }
  switch (answer.scheme) {
    case Scheme::none:
      op.state = Operation::State::fin_due;
      break;
    case Scheme::get:
    case Scheme::mapped:
      // From progress() the way back out of the system call is short: every return behind one is mispredicted
      // where the kernel guards its own returns, and here we are a dozen calls deep.
      op.state = Operation::State::reading;
      activate(op);
      return;
    case Scheme::both:
    case Scheme::mapped_both:
      op.fragment_bytes = piece_of(question);
      op.helps = op.needs_fin = true;
      op.state = Operation::State::rtr_due;
      ++(question.mapped ? counters_.mapped_both : counters_.both);
      break;
    case Scheme::pipeline:
      op.fragment_bytes = fragment_of(question, *op.link);
      ++counters_.pipeline;
      if (op.link->railed && divide(op)) [[unlikely]]
        return;
      op.helps = can_help(question, answer);
      op.state = Operation::State::rtr_due;
      break;
  }
  activate(op);
  step(op);
}

bool Engine::step(Operation& op) noexcept {
  using State = Operation::State;
  switch (op.state) {
    case State::reading:
      return step_reading(static_cast<RecvOp&>(op));
    case State::rtr_due:
      return step_rtr(static_cast<RecvOp&>(op));
    case State::rma_due:
      return step_remote(op);
    case State::streaming:
      return step_streaming(static_cast<SendOp&>(op));
    case State::fin_due:
      return step_fin(static_cast<RecvOp&>(op));
    case State::receiving:
      return op.divided ? step_asking(static_cast<RecvOp&>(op))
                        : step_sharing(static_cast<RecvOp&>(op));  // others are not in the list
    case State::idle:
    case State::announce:
    case State::waiting:
      break;
  }
  return false;
}

unsigned Engine::progress() noexcept {
  unsigned moved = 0;
  // Ends of operations may add and remove others: walk a list of their own, and give back what is still under
  // way.
  while (Operation* op = active_.pop_front()) round_.push_back(op);
  while (Operation* op = round_.pop_front()) {
    active_.push_back(op);
    moved += step(*op) ? 1 : 0;
  }
  if (!helpers_.empty()) moved += help() ? 1 : 0;
  if (!pieces_.resting()) [[unlikely]]
    moved += pieces_.progress();
  return moved;
}

Header Engine::fin_of(const RecvOp& op) noexcept {
  return wire::make_header(wire::Kind::fin, op.peer_op,
                           static_cast<std::uint32_t>(static_cast<int>(op.outcome)));
}

bool Engine::step_fin(RecvOp& op) noexcept {
  if (op.failed) {  // its link is dead, or its sender refused: there is nobody to tell
    finish(op);
    return true;
  }
  const Header header = fin_of(op);
  Status sent = Status::unsupported;
  if (op.key.bytes() != 0) {
    transport::Key key;
    op.key.copy_to(key);
    sent = op.link->send_invalidate(header, nullptr, 0, key);
  }
  // Without it the sender ends its key itself when it hears of the end.
  if (sent == Status::unsupported || sent == Status::access_error)
    sent = op.link->send_control(header, nullptr, 0);
  if (sent == Status::no_resource) return false;
  finish(op);
  return true;
}

Operation* Engine::ended_by(const Header& fin) const noexcept {
  const auto name = static_cast<wire::SyncName>(fin.tag);
  if (name != fin.tag) return table_.find(fin.tag);
  Operation* op = table_.at(wire::sync_slot(name));
  return op != nullptr && op->peer_op == name ? op : nullptr;
}

void Engine::on_fin(const LinkRef& link, const Packet& packet) noexcept {
  Operation* op = ended_by(*packet.header);
  const auto status = static_cast<std::int32_t>(packet.header->immediate);
  if (op == nullptr || op->link != &link) return;
  // A receiver with a key may have read for itself what we are about to send; any may refuse it.
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
    op->failed = true;  // its completion ends it
    return;
  }
  end(*op);
}

bool Engine::region_busy(std::uint64_t region) noexcept {
  bool busy = false;
  table_.for_each([&](const Operation& op) { busy = busy || (op.remote_half && op.region == region); });
  for (auto* list : {&active_, &round_, &held_})
    for (Operation* op = list->front(); op != nullptr; op = list->next(op))
      busy = busy || (op->remote_half && op->region == region);
  return busy;
}

void Engine::end_all(Status why) noexcept {
  for (auto* list : {&active_, &helpers_, &held_})
    while (Operation* op = list->front()) {
      if (op->kind == Operation::Kind::send) {
        auto& send = static_cast<SendOp&>(*op);
        if (send.divided) pieces_.drop(send);
        send.key.clear(keys_);
      }
      op->sink_key_bytes = 0;  // keys went with the provider
      op->outcome = why;
      finish(*op);
    }
}

std::uint64_t Engine::fail_link(const LinkRef& link, Status why) noexcept {
  // The ends call the owner, which may start and end others. So all operations of the link are taken out
  // first, each looked at once, and ended after.
  IntrusiveList<Operation> doomed;
  const auto doom = [&](Operation& op) {
    if (op.link != &link || op.ending) return;
    if (op.divided && op.kind == Operation::Kind::send) pieces_.stop(static_cast<SendOp&>(op));
    const bool waits = op.in_flight || is_held(op);
    if (waits && op.failed) return;
    op.outcome = why;
    if (op.in_flight) {
      op.failed = true;  // its completion ends it
      return;
    }
    if (waits) {
      end(op);
      return;
    }
    deactivate(op);
    activate_in(doomed, op);
  };
  std::uint64_t steps = table_.for_each(doom);
  for (auto* list : {&active_, &round_}) {  // some have no name
    for (Operation* next = list->front(); next != nullptr; ++steps) {
      Operation& op = *next;
      next = list->next(next);
      doom(op);
    }
  }
  for (; Operation* op = doomed.front(); ++steps) finish(*op);
  return steps;
}

}  // namespace stria::rndv
