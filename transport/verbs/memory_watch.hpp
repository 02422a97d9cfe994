// Notices when registered memory goes away, because some thread of the process unmaps, moves or drops it.
// There are two sources. Hooks of the application (transport/memory_hooks.hpp; Open MPI has them) report it
// before it happens, in the thread that does it. The kernel reports it through a userfaultfd: the thread that
// takes memory away waits until the event has been read. With either source is_gone() knows of every free()
// and munmap() that has returned.
//
// A process has one MemoryWatch, because a mapping has room for one userfaultfd. Neither its thread nor the
// function that a hook calls allocates, frees or takes a lock, because the thread that takes memory away may
// hold the allocator's lock. The thread's end, which frees memory, comes after the userfaultfd is closed,
// when no other thread waits for an event to be read.
//
//   thread   poll ── reading_ = odd ── read the event ── mark ── reading_ = even
//   worker   waits while reading_ is odd, then looks at its mark: an event that was read has been marked
//
// Nothing is watched, and no registration is kept, where there are no hooks and the system does not allow a
// userfaultfd (a container's seccomp filter, another kernel). The same holds for memory that a userfaultfd
// cannot watch (files).
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "base/fd.hpp"
#include "stria/provider.h"

namespace stria::verbs {

class MemoryWatch {
 public:
  enum class Source { any, hooks, kernel };  ///< any: hooks if the application has them, else the kernel
  /// The process's MemoryWatch, whose source its first user chose; null when the source is not available. It
  /// lives until its last user lets go of it.
  static std::shared_ptr<MemoryWatch> get(Source source, const stria_services_t& services) noexcept;
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  /// The source in words, for the log.
  const char* told_by() const noexcept;

  static constexpr int kNone = -1;
  /// Watches [begin, end), whole pages, from now on. Returns the number of its mark; kNone: all marks are in
  /// use, or the kernel does not watch this memory. Any thread.
  int add(std::uintptr_t begin, std::uintptr_t end) noexcept;
  /// Frees the mark.
  void remove(int mark) noexcept;
  /// Whether some of the mark's memory went away since add(). True for certain once a call that took it away
  /// has returned.
  bool is_gone(int mark) noexcept;

 private:
  MemoryWatch() = default;
  bool open_hooks(const stria_services_t& services) noexcept;
  bool open_kernel() noexcept;
  void run() noexcept;
  static void released(void* self, const void* memory, std::uint64_t bytes) noexcept;
  void mark(std::uintptr_t begin, std::uintptr_t end, bool is_away) noexcept;
  void unwatch(std::uintptr_t begin, std::uintptr_t end) noexcept;

  struct Mark {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};  // 0: nothing is watched
    std::atomic<bool> taken{false};
    std::atomic<bool> gone{false};  // some of the memory went away
    std::atomic<bool> away{false};  // addresses went away, not only pages: another mapping may lie there now
  };
  static constexpr int kMarks = 4096;
  std::array<Mark, kMarks> marks_;
  std::atomic<int> used_{0};  // marks from this number on were never taken
  std::atomic<std::uint32_t> reading_{0};
  std::atomic<bool> stopping_{false};
  const stria_services_t* hooks_ = nullptr;  // source hooks; else null
  UniqueFd fd_;                              // source kernel: the userfaultfd; thread_ closes it
  UniqueFd wake_;                            // wakes thread_ to stop
  std::mutex changing_;                      // guards which memory the kernel watches, for add() and remove()
  pid_t owner_ = 0;                          // the process whose memory fd_ watches
  std::thread thread_;
};

}  // namespace stria::verbs
