// Activity: what a worker is in the middle of, what it has left for its next progress(), and the threads that
// sleep until there is something to do. All parts of a worker refer to its Activity, and it is all that most
// of them know of each other's work: they ask whether a callback runs or the worker is being closed, put a
// peer into the backlog, and say that something was handled.
//
// A message that a receive takes out of the window where it lies uses most of these members, so they are
// together in one cache line.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/cache_line.hpp"
#include "base/intrusive_list.hpp"
#include "tag/alarm.hpp"
#include "tag/peer.hpp"

namespace stria::tag {

/// Threads: called with the worker's lock held; only the sleep on the descriptors is without it.
class alignas(kCacheLine) Activity {
 public:
  Activity(std::uint64_t worker_id, bool threads) noexcept : threads_(threads), worker_id_(worker_id) {}
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  std::uint64_t worker_id() const noexcept { return worker_id_; }

  /// Whether a round of progress, or a callback, is under way: no other round may begin inside it.
  bool in_progress() const noexcept { return in_progress_; }
  void begin_round() noexcept { in_progress_ = true; }
  void end_round() noexcept { in_progress_ = false; }
  /// Marks a scope that runs callbacks as part of a round.
  class Inside {
   public:
    explicit Inside(Activity& activity) noexcept
        : activity_(activity), before_(std::exchange(activity.in_progress_, true)) {}
    ~Inside() { activity_.in_progress_ = before_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Activity& activity_;
    const bool before_;
  };

  /// The worker is being closed: what is under way goes on, and peers get no credit any more.
  bool leaving() const noexcept { return leaving_; }
  void leave() noexcept { leaving_ = true; }
  /// The worker ends what is left: nothing is started any more, and callbacks make no progress.
  bool closing() const noexcept { return closing_; }
  void close() noexcept { closing_ = in_progress_ = true; }

  /// The peers for which something waits that the next progress() tries to send.
  IntrusiveList<Peer>& backlog() noexcept { return backlog_; }
  bool has_backlog() const noexcept { return !backlog_.empty(); }
  void add_to_backlog(Peer& peer) noexcept;

  /// The number of events handled so far, by which a thread sees that other threads handled something.
  std::uint64_t handled() const noexcept { return handled_; }
  void add_handled(std::uint64_t events) noexcept { handled_ += events; }

  // Waking. A thread that sleeps in wait() has to wake when work was left for progress(), when the devices
  // are not armed any more, or when an operation ended that may be its own.
  void work_left() noexcept {
    if (armed_) [[unlikely]]
      wake();
  }
  void an_operation_ended() noexcept {
    if (armed_ || sleepers_ != 0) [[unlikely]]
      wake();
  }
  /// For a caller that handled something outside of a round. While no thread sleeps, the devices stay armed.
  void notify_sleepers() noexcept {
    if (sleepers_ != 0) [[unlikely]]
      wake();
  }
  /// Notifies the sleeping threads; from now on the devices count as disarmed.
  [[gnu::cold, gnu::noinline]] void wake() noexcept;
  /// The devices are armed: what comes makes the alarm's descriptor readable, so a thread may sleep on it.
  bool armed() const noexcept { return armed_; }

  // Sleeping (wait.cpp).
  bool alarm_is_open() const noexcept { return alarm_.is_open(); }
  bool open_alarm(std::span<const int> devices) noexcept { return alarm_.open(devices); }
  int alarm_fd() const noexcept { return alarm_.fd(); }
  /// All devices are armed. The alarm goes off after `ms` in any case.
  void set_armed(std::int64_t ms) noexcept;
  /// The wakeup descriptor alone, for a sleep that the devices do not end; -1 before the alarm is open.
  int wakeup_fd() noexcept;
  /// The calling thread is about to give up the lock and sleep.
  void fall_asleep() noexcept { ++sleepers_; }
  /// The calling thread sleeps no more. Returns whether another thread disarmed the devices meanwhile.
  bool wake_up() noexcept;

 private:
  bool in_progress_ = false;
  bool leaving_ = false;
  bool closing_ = false;
  bool armed_ = false;
  const bool threads_;     // other threads may use the worker while one sleeps
  unsigned sleepers_ = 0;  // threads in wait() that gave up the lock to sleep
  std::uint64_t handled_ = 0;
  IntrusiveList<Peer> backlog_;
  const std::uint64_t worker_id_;
  Alarm alarm_;
};
static_assert(sizeof(Activity) <= 2 * kCacheLine, "what a message looks at comes first, in one line");

}  // namespace stria::tag
