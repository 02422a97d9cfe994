// Alarm: what a thread sleeps on while its worker has nothing to do: one epoll descriptor over the event
// descriptors of all devices, a wakeup descriptor and a timer. The wakeup descriptor is notified by other
// threads of the process: no device would tell the sleeping thread what they post, or find while they make
// progress. The timer is needed because no descriptor tells that a peer has died, so a thread that sleeps has
// to look after its peers now and then.
#pragma once

#include <cstdint>
#include <span>

#include "base/fd.hpp"

namespace stria::tag {

/// Threads: called with the worker's lock held; only the sleep on the descriptors is without it.
class Alarm {
 public:
  /// Makes the descriptors; false when the system has none left, and then it keeps none.
  bool open(std::span<const int> devices) noexcept;
  bool is_open() const noexcept { return static_cast<bool>(set_); }
  /// The epoll descriptor: readable when a device has something, after notify(), or when the time of
  /// wake_after() is over. May itself be a member of an epoll set.
  int fd() const noexcept { return set_.get(); }
  /// Makes fd() readable once, `ms` milliseconds from now; replaces an earlier time.
  void wake_after(std::int64_t ms) noexcept;
  /// The wakeup descriptor: readable after notify() alone.
  int wakeup_fd() const noexcept { return wakeup_.get(); }
  /// Makes fd() and wakeup_fd() readable until clear().
  void notify() noexcept;
  /// Undoes notify(). While several threads sleep, only the last of them that wakes may call it: the others
  /// would miss the notification.
  void clear() noexcept;

 private:
  UniqueFd wakeup_;
  UniqueFd timer_;
  UniqueFd set_;
  bool notified_ = false;
};

}  // namespace stria::tag
