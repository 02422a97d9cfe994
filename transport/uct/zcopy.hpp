// Packets that UCX sends out of the caller's memory. Each that is under way has a slot with UCX's completion
// in it; UCX calls that from wherever it is, so the worker hears of it from the next call of progress.
#pragma once

#include <uct/api/uct.h>

#include <cstddef>
#include <deque>

#include "transport/contract.hpp"
#include "transport/uct/shared.hpp"

namespace stria::uct {

class Link;

class ZcopySends {
 public:
  explicit ZcopySends(Shared& shared) noexcept : shared_(shared) {}

  /// The contract's zcopy_send, of a payload that is worth it.
  Status send(Link& link, const transport::Header& header, const transport::Payload& payload,
              transport::Completion* completion) noexcept;
  bool have_ended() const noexcept { return ended_ != nullptr; }
  /// Calls the completions of up to `budget` sends; returns how many.
  unsigned tell(unsigned budget) noexcept;
  /// UCX has forgotten the link's endpoint: ends what is under way on it, and calls its completions.
  void abandon(Link& link) noexcept;

 private:
  struct Slot {
    uct_completion_t ucx;  // the first member
    transport::Completion* completion;
    Link* link;  // null: free, or ended
    Slot* next;
    Status status;
  };
  Slot* take() noexcept;
  void end(Slot& slot, Status status) noexcept;

  Shared& shared_;
  std::deque<Slot> slots_;  // they do not move
  Slot* free_ = nullptr;
  Slot* ended_ = nullptr;  // in the order of their ends
  Slot* last_ended_ = nullptr;
};

}  // namespace stria::uct
