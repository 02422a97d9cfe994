// The send queue of one link. A ring remembers, for every work request under way, what is to be done when it
// completes. Work requests complete in order, so one completion stands for all requests before it, too. (With
// iWARP they may complete out of order, and every request asks for a completion of its own.)
//
// Windows that were chosen for keys wait here: the requests that bind them, the binds, are posted ahead of
// the next request, at its doorbell.
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
  std::uint32_t slot = 0;  ///< of Shared::slots: give it back
  Move* move = nullptr;    ///< a piece of it is done
  bool done = false;       ///< the request has completed (iWARP only)
};

class SendQueue {
 public:
  static constexpr unsigned kMostChain = 4;  ///< most requests of one post()

  SendQueue(Shared& shared, Link& link) noexcept : shared_(shared), link_(link) {}
  /// Gives the send queue its queue pair. Nothing may be posted before.
  void use(ibv_qp* queue_pair, LinkNumber number) noexcept;
  std::uint32_t queue_pair_number() const noexcept { return poster_.queue_pair()->qp_num; }

  /// Whether there is room for `requests` requests and the binds that wait. Polls for completions to make it.
  bool has_room(unsigned requests) noexcept;
  /// Whether there is room for `requests` requests and the binds that wait, without polling for completions.
  bool has_room_now(unsigned requests) const noexcept {
    return kSendDepth - (head_ - tail_) >= requests + chosen_count_;
  }
  /// Posts the binds that wait, unless they may not go yet (binds_have_to_wait), and then `requests`, at one
  /// doorbell. The caller has asked for room. signal: the last request asks for a completion. peer_failed:
  /// the link ends.
  Status post(ibv_send_wr* requests, const Entry* entries, unsigned count, bool signal) noexcept;
  /// Posts a write of no bytes, and asks for its completion: it needs no key, and the peer's adapter
  /// acknowledges it like any other write.
  Status post_nothing() noexcept;

  bool is_idle() const noexcept { return head_ == tail_; }
  bool has_moves() const noexcept { return moves_ > 0; }
  std::uint32_t completed() const noexcept { return tail_; }  ///< requests, in all
  /// Handles the completion of the request with this sequence number.
  void complete(std::uint32_t sequence, ibv_wc_status status) noexcept;
  /// Posts a request that asks for a completion, if requests are under way that asked for none. True: nothing
  /// is under way.
  bool settle() noexcept;
  // These two wait for the adapter. If that takes too long, the link ends, and they return.
  void await_room() noexcept;    ///< until there is room for one request
  void await_posted() noexcept;  ///< until all that was posted by now is complete

  /// The queue pair is in error: if requests are under way, drops the binds that wait and posts one request
  /// more, as soon as there is room. That request is flushed behind all that is under way, so its completion
  /// stands also for the requests that succeeded without a completion of their own.
  void flush() noexcept;
  /// Completes all that is under way as flushed, because no completion is waited for any more.
  void abandon() noexcept;

  // Windows, which work requests of this queue pair bind.
  bool can_choose() const noexcept { return chosen_count_ < kMostChosen; }
  void choose(Window& window) noexcept;    ///< its bind will be posted ahead of the next request
  bool withdraw(Window& window) noexcept;  ///< its bind will not be posted; false: it has been
  /// Whether binds wait that may be posted only when all requests before them are acknowledged (rxe), and
  /// some are not. Polls for completions.
  bool binds_have_to_wait() noexcept;
  /// Whether binds wait of which binds_have_to_wait() said so.
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
  std::uint32_t head_ = 0;         // requests posted, in all; the next request's sequence number
  std::uint32_t tail_ = 0;         // requests completed, in all
  std::uint32_t unsignalled_ = 0;  // requests since the last one that asked for a completion
  std::uint32_t moves_ = 0;        // requests of gets, puts and atomics under way
  bool flushed_ = false;           // flush() has posted its request
  bool binds_wait_ = false;  // binds wait until all that is under way is acknowledged: no move posts more
  unsigned chosen_count_ = 0;
  std::array<Window*, kMostChosen> chosen_{};
  IntrusiveList<Window> windows_;         // all that are chosen or bound
  std::array<Entry, kSendDepth> ring_{};  // by sequence number modulo kSendDepth
};

}  // namespace stria::verbs
