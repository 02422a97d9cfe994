// The send queue of one link. A ring remembers, for every work request under way, what is to be done when it
// completes; completions come in order, so that one says it of all before it (with iWARP they need not, and
// every request has its own).
//
// Windows that were chosen for keys wait here: their binds go out ahead of the next request, at its doorbell.
#pragma once

#include <array>
#include <cstdint>

#include "base/intrusive_list.hpp"
#include "base/status.hpp"
#include "transport/verbs/keys.hpp"
#include "transport/verbs/link_numbers.hpp"
#include "transport/verbs/shared.hpp"

namespace stria::verbs {

struct Move;

/// What is to be done when a work request completes.
struct Entry {
  enum class Doing : std::uint8_t { nothing, slot, move } doing = Doing::nothing;
  std::uint32_t slot = 0;
  Move* move = nullptr;
  bool done = false;  ///< where completions come out of order
};

class SendQueue {
 public:
  static constexpr unsigned kMostChain = 4;  ///< requests of one call

  SendQueue(Shared& shared, Link& link) noexcept : shared_(shared), link_(link) {}
  /// Before that nothing may be posted.
  void use(ibv_qp* queue_pair, LinkNumber number) noexcept;
  std::uint32_t queue_pair_number() const noexcept { return poster_.queue_pair()->qp_num; }

  /// Room for so many requests, and the binds that wait; makes some by looking for completions.
  bool has_room(unsigned requests) noexcept;
  bool has_room_now(unsigned requests) const noexcept {
    return kSendDepth - (head_ - tail_) >= requests + chosen_count_;
  }
  /// Posts the binds that wait and then these, at one doorbell. There is room. peer_failed: the link ends.
  Status post(ibv_send_wr* requests, const Entry* entries, unsigned count, bool signal) noexcept;
  /// A write of no bytes needs no key, and is acknowledged like any other.
  Status post_nothing() noexcept;

  bool is_idle() const noexcept { return head_ == tail_; }
  bool has_moves() const noexcept { return moves_ > 0; }
  std::uint32_t completed() const noexcept { return tail_; }
  void complete(std::uint32_t sequence, ibv_wc_status status) noexcept;
  /// Asks for the completion of what was posted without; true: nothing is under way.
  bool settle() noexcept;
  // Those wait for the adapter, and not for ever: the link ends when it takes too long.
  void await_room() noexcept;
  void await_posted() noexcept;  ///< until all that was posted by now is complete

  /// The queue pair is in error: one more request is flushed behind all that is under way, also what
  /// succeeded without a completion of its own.
  void flush() noexcept;
  /// Completes all that is under way, as the queue pair is gone.
  void abandon() noexcept;

  // Windows, whose binds belong to this queue pair.
  bool can_choose() const noexcept { return chosen_count_ < kMostChosen; }
  void choose(Window& window) noexcept;    ///< its bind goes out before the next request
  bool withdraw(Window& window) noexcept;  ///< true: it was never posted
  /// Whether binds wait that may go only when all before them is acknowledged.
  bool binds_have_to_wait() noexcept;
  bool do_binds_wait() const noexcept { return binds_wait_; }
  IntrusiveList<Window>& windows() noexcept { return windows_; }

 private:
  static constexpr unsigned kMostChosen = 8;
  static constexpr std::uint32_t kMask = kSendDepth - 1;
  static_assert((kSendDepth & kMask) == 0);

  unsigned build_binds(ibv_send_wr* out) noexcept;
  void end(const Entry& entry, ibv_wc_status status) noexcept;
  template <class Done>
  void await(Done done) noexcept;

  Shared& shared_;
  Link& link_;
  LinkNumber number_;
  Poster poster_;
  std::uint32_t head_ = 0;  // requests posted, and completed, in all
  std::uint32_t tail_ = 0;
  std::uint32_t unsignalled_ = 0;
  std::uint32_t moves_ = 0;  // requests of gets, puts and atomics under way
  bool flushed_ = false;
  bool binds_wait_ = false;  // until all that is under way is acknowledged: no move posts more
  unsigned chosen_count_ = 0;
  std::array<Window*, kMostChosen> chosen_{};
  IntrusiveList<Window> windows_;  // chosen, or bound
  std::array<Entry, kSendDepth> ring_{};
};

}  // namespace stria::verbs
