// Tells when memory that is registered goes away: unmapped, moved or dropped by anybody in the process. The
// kernel says it through a userfaultfd, and whoever takes memory away waits until it was read; so no call of
// free() or munmap() returns before the range is marked here, and no hook of an allocator is needed.
//
// One for the process, as a mapping has room for one userfaultfd. Its thread allocates and frees nothing and
// takes no lock: memory may be taken away by a thread that holds one.
//
//   thread   poll ── reading_ = odd ── read the event ── mark ── reading_ = even
//   worker   waits while reading_ is odd, then looks at its mark: an event that was read has been marked
//
// Where the system does not allow it (a container's seccomp filter, another kernel), or for memory that the
// kernel does not watch (files), nothing is watched, and registrations are not kept.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "base/fd.hpp"

namespace stria::verbs {

class MemoryWatch {
 public:
  /// The process's; null where it is not allowed. Ends with its last user.
  static std::shared_ptr<MemoryWatch> get() noexcept;
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  static constexpr int kNone = -1;
  /// Watches whole pages from now on; the mark's number, or kNone. Any thread.
  int add(std::uintptr_t begin, std::uintptr_t end) noexcept;
  void remove(int mark) noexcept;
  /// Some of the memory went away since add(), as far as any call that took it away returned.
  bool is_gone(int mark) noexcept;

 private:
  MemoryWatch() = default;
  bool open() noexcept;
  void run() noexcept;
  void mark(std::uintptr_t begin, std::uintptr_t end) noexcept;

  struct Mark {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};  // 0: free
    std::atomic<bool> taken{false};
    std::atomic<bool> gone{false};
  };
  static constexpr int kMarks = 4096;
  std::array<Mark, kMarks> marks_;
  std::atomic<int> used_{0};  // marks that were ever taken
  std::atomic<std::uint32_t> reading_{0};
  std::atomic<bool> stopping_{false};
  UniqueFd fd_;
  UniqueFd wake_;
  std::thread thread_;
};

}  // namespace stria::verbs
