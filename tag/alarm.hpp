// What a thread sleeps on while a worker has nothing to do: one epoll descriptor over the event descriptors
// of all devices and over a bell of the worker's own. The bell is for the other threads of the process: what
// they post, or find while they make progress, no device would tell the sleeper. And over a timer: nobody
// rings when a peer dies, so whoever sleeps has to look after its peers now and then.
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
  /// Readable when a device has something, or the bell was rung. May itself be a member of an epoll set.
  int fd() const noexcept { return set_.get(); }
  /// Makes it readable once, so much later; instead of an earlier time.
  void wake_after(std::int64_t ms) noexcept;
  /// The bell alone.
  int bell_fd() const noexcept { return bell_.get(); }
  void ring() noexcept;
  /// Takes the ring out. While several sleep, only the last may do so, or it would take theirs.
  void silence() noexcept;

 private:
  UniqueFd bell_;
  UniqueFd timer_;
  UniqueFd set_;
  bool rung_ = false;
};

}  // namespace stria::tag
