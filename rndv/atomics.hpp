// Atomics: the atomics on remote memory that one worker starts, and its answers to those that peers ask it
// for. The provider performs an atomic where it may; else the worker asks the owner of the region, whose
// engine performs it and answers with the word as it was before. When a link has no room, an answer waits
// here, and an atomic waits in the queue of its peer (tag/one_sided.cpp). No atomic is performed twice, and
// no answer is sent twice.
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

/// One atomic, in the memory of the request that owns it.
struct AtomicOp : ListNode, transport::Completion {
  AtomicOp() noexcept : transport::Completion{} { key.bytes = 0; }
  Atomics* engine = nullptr;
  const transport::LinkRef* link = nullptr;
  wire::OpId id = 0;         ///< this worker's name for the atomic, while the region's owner is asked
  std::uint64_t region = 0;  ///< the owner's name for the region
  transport::Atomic what{};  ///< operation, operands, and where the result goes
  transport::Key key;  ///< for the provider, which performs the atomic; bytes == 0: the owner's engine does
  bool owner_may_perform = false;  ///< the owner's engine may perform it where the provider refuses
};

/// Threads: called with the worker's lock held.
class Atomics {
 public:
  /// Upcall to the worker when an atomic has ended. Nothing touches the operation after it: the worker may
  /// free or reuse the operation, and start others, before it returns.
  struct Events {
    void* self = nullptr;
    void (*ended)(void* self, AtomicOp& op, Status outcome) = nullptr;
  };
  explicit Atomics(const Events& events) noexcept : events_(events) {}
  Atomics(const Atomics&) = delete;
  Atomics& operator=(const Atomics&) = delete;

  /// Asks the provider to perform the atomic; `link`, `what` and `key` are set. ok, or an error: the atomic
  /// has ended, and `ended` is not called. in_progress: `ended` will be called. no_resource: nothing changed.
  Status try_provider(AtomicOp& op) noexcept;
  /// Asks the engine of the region's owner to perform the atomic; `link`, `what` and `region` are set.
  /// in_progress: `ended` will be called. no_resource: nothing changed. Anything else: why the request was
  /// not sent.
  Status try_ask(AtomicOp& op) noexcept;

  /// Sends the answer to a peer's atomic, which was performed, or refused. no_resource: the answer waits
  /// here, and flush() has to be called for the link. io_error: there is no memory for a waiting answer.
  Status answer(const transport::LinkRef& link, wire::OpId initiator, Status status,
                std::uint64_t before) noexcept;
  /// Handles a peer's answer to an atomic of this worker. An answer that names no atomic under way is
  /// dropped. False: the answer is malformed.
  [[nodiscard]] bool on_word(const transport::LinkRef& link, const transport::Packet& packet) noexcept;

  /// Sends the answers that wait for the link; returns how many were sent. Sets `rest` to whether some still
  /// wait; leaves it as it is when none waited.
  unsigned flush(const transport::LinkRef& link, bool& rest) noexcept;
  /// The link is dead: ends the atomics that the engine of its peer was asked for, and drops the answers that
  /// wait for the link. The atomics that a provider has are ended by the provider. Returns the number of
  /// steps, which is linear in the number of atomics and answers under way on all links.
  std::uint64_t fail_link(const transport::LinkRef& link, Status why) noexcept;
  /// Ends the atomics that providers had. To be called only after the providers are closed.
  void end_all(Status why) noexcept;
  bool idle() const noexcept { return live_ == 0; }

 private:
  /// An answer that waits because its link had no room.
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
  void recycle(Answer& answer) noexcept;

  Events events_;
  NameTable<AtomicOp> asked_;          // a peer's engine was asked to perform them
  IntrusiveList<AtomicOp> in_flight_;  // in the hands of a provider
  IntrusiveList<Answer> answers_;
  IntrusiveList<Answer> free_answers_;
  std::vector<std::unique_ptr<Answer>> all_answers_;  // all Answers, as many as ever waited at a time
  std::uint64_t live_ = 0;                            // atomics of this worker, begun and not ended
};

}  // namespace stria::rndv
