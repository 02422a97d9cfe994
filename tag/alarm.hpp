// What a thread sleeps on while a worker has nothing to do: one epoll descriptor over the event descriptors
// of all devices and over a wakeup of the worker's own. The wakeup is for the other threads of the process:
// what they post, or find while they make progress, no device would tell the sleeper. And over a timer:
// nobody notifies when a peer dies, so whoever sleeps has to look after its peers now and then.
#pragma once

#include <cstdint>
#include <span>

#include "base/fd.hpp"

namespace stria::tag {

/// Threads: the worker's lock, but for sleeping on the descriptors.
class Alarm {
 public:
  /// Makes the descriptors; false when the system has none left. Nothing is kept then.
  bool open(std::span<const int> devices) noexcept;
  bool is_open() const noexcept { return static_cast<bool>(set_); }
  /// Readable when a device has something, or after notify(). May itself be a member of an epoll set.
  int fd() const noexcept { return set_.get(); }
  /// Makes it readable once, so much later; instead of an earlier time.
  void wake_after(std::int64_t ms) noexcept;
  /// Readable after notify() alone.
  int wakeup_fd() const noexcept { return wakeup_.get(); }
  void notify() noexcept;
  /// Ends what notify() began. While several sleep, only the last may do so, or it would take theirs.
  void clear() noexcept;

 private:
  UniqueFd wakeup_;
  UniqueFd timer_;
  UniqueFd set_;
  bool notified_ = false;
};

}  // namespace stria::tag
