// Remote atomics of one worker: by the provider where that may perform them, else the owner is asked and
// answers with the word as it was. An answer that finds no room waits here, an atomic in its peer's queue
// (tag/one_sided.cpp); nothing of both is done twice.
//
//   AtomicOp:  idle -> (asked) waiting -> ended by the answer
//                  \-> (a provider has it) in flight -> ended by its completion
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/intrusive_list.hpp"
#include "rndv/op_table.hpp"
#include "transport/link_ref.hpp"

namespace stria::rndv {

class Atomics;

/// In the memory of the request that owns it.
struct AtomicOp : ListNode, transport::Completion {
  AtomicOp() noexcept : transport::Completion{} { key.bytes = 0; }
  Atomics* engine = nullptr;
  const transport::LinkRef* link = nullptr;
  wire::OpId id = 0;         ///< our name for it, while its owner is asked
  std::uint64_t region = 0;  ///< the owner's name of it
  transport::Atomic what{};
  transport::Key key;      ///< of the provider that performs it; bytes == 0: the owner does
  bool owner_may = false;  ///< where the provider refuses
};

/// Threads: the worker's lock is held above.
class Atomics {
 public:
  /// What the worker hears, last of all: it may free or reuse the operation, and start others, inside it.
  struct Events {
    void* self = nullptr;
    void (*ended)(void* self, AtomicOp& op, Status outcome) = nullptr;
  };
  explicit Atomics(const Events& events) noexcept : events_(events) {}
  Atomics(const Atomics&) = delete;
  Atomics& operator=(const Atomics&) = delete;

  /// Has the provider perform it (link, `what` and key set). ok and errors: ended, without an event.
  /// in_progress: the event follows. no_resource: nothing changed.
  Status try_provider(AtomicOp& op) noexcept;
  /// Asks the owner (region set, too). in_progress, no_resource, or why not.
  Status try_ask(AtomicOp& op) noexcept;

  /// Answers the operation of a peer that was performed, or refused. no_resource: the answer waits, the link
  /// has to be flushed. io_error: there is no memory for that.
  Status answer(const transport::LinkRef& link, wire::OpId initiator, Status status,
                std::uint64_t before) noexcept;
  /// The answer to one of ours. One that names no operation under way is dropped. False: it is malformed.
  [[nodiscard]] bool on_word(const transport::LinkRef& link, const transport::Packet& packet) noexcept;

  /// Sends the answers that wait for the link; returns how many went. `rest`: some still wait.
  unsigned flush(const transport::LinkRef& link, bool& rest) noexcept;
  /// Ends what the link's owner was asked for; what a provider has, that ends. Returns how many steps that
  /// took, which is linear in the number of atomics and answers under way, of all links.
  std::uint64_t fail_link(const transport::LinkRef& link, Status why) noexcept;
  /// Ends what providers had; only after they are closed.
  void end_all(Status why) noexcept;
  bool idle() const noexcept { return live_ == 0; }

 private:
  /// An answer that found no room.
  struct Answer : ListNode {
    const transport::LinkRef* link = nullptr;
    wire::OpId initiator = 0;
    std::uint64_t before = 0;
    Status status = Status::ok;
  };
  static Status send_answer(const transport::LinkRef& link, wire::OpId initiator, Status status,
                            std::uint64_t before) noexcept;
  static void on_done(stria_completion_t* completion, stria_status_t status) noexcept;
  void end(AtomicOp& op, Status outcome) noexcept;
  void give(Answer& answer) noexcept;

  Events events_;
  NameTable<AtomicOp> asked_;
  IntrusiveList<AtomicOp> in_flight_;  // in the hands of a provider
  IntrusiveList<Answer> answers_;
  IntrusiveList<Answer> free_answers_;
  std::vector<std::unique_ptr<Answer>> all_answers_;  // as many as ever waited at a time
  std::uint64_t live_ = 0;                            // ours, begun and not ended
};

}  // namespace stria::rndv
