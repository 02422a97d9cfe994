// Operations: the operations of one engine that are under way: their names, the lists that they are in, and
// their counts. The class knows no protocol: the other parts decide when an operation changes its list.
//
//   active     has something to do in each round of progress()
//   round      active operations that the current round has not come to yet
//   helpers    receives of a pipeline that may read for themselves where the sender is silent (help.cpp)
//   held       over, but a provider, or a peer with a key, still uses their memory (finisher.hpp)
//   no list    waits for a packet of the peer, or for the owner to announce it again
#pragma once

#include <cstdint>
#include <new>

#include "rndv/op_table.hpp"
#include "rndv/operation.hpp"

namespace stria::rndv {

/// Threads: called with the worker's lock held.
class Operations {
 public:
  Operations() = default;
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;

  // Counts.
  /// The operation is under way from now on.
  void began(Operation& op) noexcept {
    ++live_;
    if (op.kind == Operation::Kind::send) {
      ++sends_;
      ++sends_begun_;
    } else {
      op.sends_before = static_cast<std::uint8_t>(sends_begun_ - (sends_ != 0));
    }
  }
  /// The operation is over, and in no list.
  void ended(const Operation& op) noexcept {
    --live_;
    if (op.kind == Operation::Kind::send)
      --sends_;
    else
      both_ways_ = op.sends_before != sends_begun_;
  }
  /// No operation is under way.
  bool idle() const noexcept { return live_ == 0; }
  /// Whether sends are under way, or one was beside the last receive that ended: then this core copies for
  /// sends, too.
  bool has_sends() const noexcept { return sends_ != 0 || both_ways_; }

  // Names.
  /// Gives the operation a name (op.id) unless it has one. False: out of memory.
  bool give_name(Operation& op) noexcept;
  /// Gives the operation a name whose slot fits the flags of a header. False: no such slot is left, or out of
  /// memory.
  bool give_low_name(Operation& op) noexcept;
  /// Ends the operation's name, if it has one.
  void end_name(Operation& op) noexcept {
    if (op.id != 0) table_.erase(op.id);
    op.id = 0;
  }
  /// The operation with the name `id`; null: none.
  Operation* find(wire::OpId id) const noexcept { return table_.find(id); }
  /// The operation of this kind and link that a packet names. Null: there is none, and a line of the log says
  /// so.
  Operation* find(wire::OpId id, Operation::Kind kind, const transport::LinkRef& link) const noexcept;
  /// The operation that a FIN ends, found by the operation's name or by the name of its synchronous message.
  /// Null: none.
  Operation* ended_by(const transport::Header& fin) const noexcept;
  /// Calls f(Op&) for every operation that has a name; f may end the name of the operation that it is given
  /// (end_name()). Returns how many slots of the table it looked at.
  template <class F>
  std::size_t for_each_named(F&& f) {
    return table_.for_each(f);
  }

  // Lists.
  void activate(Operation& op) noexcept {
    if (!op.active) put_in(active_, op);
  }
  void deactivate(Operation& op) noexcept {
    if (!op.active) return;
    op.active = false;
    op.unlink();
  }
  /// Moves the operation to `list` from the list that it is in, if any.
  void move_to(IntrusiveList<Operation>& list, Operation& op) noexcept {
    deactivate(op);
    put_in(list, op);
  }
  void hold(Operation& op) noexcept { move_to(held_, op); }
  void let_help(Operation& op) noexcept { move_to(helpers_, op); }
  /// The operation has nothing to do until its peer says something.
  void wait(Operation& op) noexcept {
    op.state = Operation::State::waiting;
    deactivate(op);
  }
  IntrusiveList<Operation>& helpers() noexcept { return helpers_; }
  /// progress() has no operation to advance: none is active, none may help.
  bool resting() const noexcept { return active_.empty() && helpers_.empty(); }

  /// Begins a round through the active operations. Operations that end or begin during the round change the
  /// lists; one that becomes active waits for the next round.
  void begin_round() noexcept {
    while (Operation* op = active_.pop_front()) round_.push_back(op);
  }
  /// The next operation of the round; it stays active. Null: the round is over.
  Operation* next_of_round() noexcept {
    Operation* const op = round_.pop_front();
    if (op != nullptr) active_.push_back(op);
    return op;
  }
  /// Calls f(Op&) for every active operation; f may move the operation that it is given. Returns for how many
  /// f was called.
  template <class F>
  std::uint64_t for_each_active(F&& f) {
    std::uint64_t steps = 0;
    for (auto* list : {&active_, &round_}) {
      for (Operation* next = list->front(); next != nullptr; ++steps) {
        Operation& op = *next;
        next = list->next(next);
        f(op);
      }
    }
    return steps;
  }
  /// The first operation of the lists active, helpers and held, outside of a round. Null: all are empty.
  Operation* first_of_lists() noexcept;
  /// Whether a peer's put or get is under way on `region`.
  bool region_busy(std::uint64_t region) noexcept;

 private:
  static void put_in(IntrusiveList<Operation>& list, Operation& op) noexcept {
    op.active = true;
    list.push_back(&op);
  }

  OpTable table_;
  IntrusiveList<Operation> active_;
  IntrusiveList<Operation> round_;
  IntrusiveList<Operation> helpers_;
  IntrusiveList<Operation> held_;
  std::uint64_t live_ = 0;        // operations begun and not ended
  std::uint64_t sends_ = 0;       // sends begun and not ended
  std::uint8_t sends_begun_ = 0;  // sends ever begun, modulo 256
  bool both_ways_ = false;        // the last receive that ended had a send beside it
};

}  // namespace stria::rndv
