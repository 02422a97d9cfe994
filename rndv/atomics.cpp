#include "rndv/atomics.hpp"

#include <cstring>
#include <new>

#include "base/log.hpp"

namespace stria::rndv {

using transport::LinkRef;

Status Atomics::try_provider(AtomicOp& op) noexcept {
  op.done = &Atomics::on_done;
  op.engine = this;
  in_flight_.push_back(&op);
  ++live_;
  const Status status = op.link->atomic(op.what, op.key, &op);
  if (status == Status::in_progress) return status;
  --live_;
  op.unlink();
  return status;
}

void Atomics::on_done(stria_completion_t* completion, stria_status_t status) noexcept {
  auto& op = static_cast<AtomicOp&>(*completion);
  op.unlink();
  op.engine->end(op, transport::from_c(status));
}

Status Atomics::try_ask(AtomicOp& op) noexcept {
  try {
    op.id = asked_.insert(&op);
  } catch (const std::bad_alloc&) {
    return Status::no_resource;
  }
  const wire::AtomicBody body{op.what.offset, op.what.operand, op.what.compare, op.id};
  const Status sent = op.link->send_control(wire::make_header(wire::Kind::atomic, op.region, op.what.op),
                                            &body, sizeof(body));
  if (sent == Status::ok) {
    ++live_;
    return Status::in_progress;
  }
  asked_.erase(op.id);
  return sent;
}

void Atomics::end(AtomicOp& op, Status outcome) noexcept {
  --live_;
  events_.ended(events_.self, op, outcome);
}

Status Atomics::send_answer(const LinkRef& link, wire::OpId initiator, Status status,
                            std::uint64_t before) noexcept {
  const auto code = static_cast<std::uint32_t>(static_cast<int>(status));
  return link.send_control(wire::make_header(wire::Kind::word, initiator, code), &before,
                           status == Status::ok ? sizeof(before) : 0);
}

Status Atomics::answer(const LinkRef& link, wire::OpId initiator, Status status,
                       std::uint64_t before) noexcept {
  const Status sent = send_answer(link, initiator, status, before);
  if (sent != Status::no_resource) return sent;
  Answer* kept = free_answers_.pop_front();
  if (kept == nullptr) {
    try {
      kept = all_answers_.emplace_back(std::make_unique<Answer>()).get();
    } catch (const std::bad_alloc&) {
      return Status::io_error;
    }
  }
  kept->link = &link;
  kept->initiator = initiator;
  kept->before = before;
  kept->status = status;
  answers_.push_back(kept);
  return Status::no_resource;
}

void Atomics::recycle(Answer& answer) noexcept {
  answer.unlink();
  free_answers_.push_back(&answer);
}

bool Atomics::on_word(const LinkRef& link, const transport::Packet& packet) noexcept {
  const auto code = static_cast<std::int32_t>(packet.header->immediate);
  if (code > 0 || code < static_cast<int>(Status::io_error)) return false;
  const auto outcome = static_cast<Status>(code);
  if (packet.bytes != (outcome == Status::ok ? sizeof(std::uint64_t) : 0)) return false;
  AtomicOp* op = asked_.find(packet.header->tag);
  if (op == nullptr || op->link != &link) {
    log::debug("a word comes for atomic {:#x}, which is not under way on its link; dropped",
               packet.header->tag);
    return true;
  }
  if (outcome == Status::ok) std::memcpy(op->what.result, packet.payload, sizeof(std::uint64_t));
  asked_.erase(op->id);
  end(*op, outcome);
  return true;
}

unsigned Atomics::flush(const LinkRef& link, bool& rest) noexcept {
  unsigned moved = 0;
  for (Answer* answer = answers_.front(); answer != nullptr;) {
    Answer* const next = answers_.next(answer);
    if (answer->link == &link) {
      rest = send_answer(link, answer->initiator, answer->status, answer->before) == Status::no_resource;
      if (rest) return moved;
      recycle(*answer);
      ++moved;
    }
    answer = next;
  }
  return moved;
}

std::uint64_t Atomics::fail_link(const LinkRef& link, Status why) noexcept {
  std::uint64_t steps = 0;
  for (Answer* next = answers_.front(); next != nullptr; ++steps) {
    Answer& answer = *next;
    next = answers_.next(next);
    if (answer.link == &link) recycle(answer);
  }
  // The upcall may start other atomics, so all atomics of the link are removed before the first of them ends.
  IntrusiveList<AtomicOp> doomed;
  steps += asked_.for_each([&](AtomicOp& op) {
    if (op.link != &link) return;
    asked_.erase(op.id);
    doomed.push_back(&op);
  });
  for (; AtomicOp* op = doomed.pop_front(); ++steps) end(*op, why);
  return steps;
}

void Atomics::end_all(Status why) noexcept {
  while (AtomicOp* op = in_flight_.pop_front()) end(*op, why);
}

}  // namespace stria::rndv
