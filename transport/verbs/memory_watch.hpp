// Tells when memory that is registered goes away: unmapped, moved or dropped by anybody in the process.
// Either the application says it by hooks of its own (transport/memory_hooks.hpp; Open MPI has them), before
// it happens and in the thread that does it; or the kernel, through a userfaultfd: whoever takes memory away
// waits until that was read. So no call of free() or munmap() returns before the range is marked here.
//
// One for the process, as a mapping has room for one userfaultfd. Neither its thread nor what a hook calls
// allocates, frees or takes a lock: memory may be taken away by a thread that holds one. The thread frees
// what it was started with when the userfaultfd is closed, and nobody waits for it any more.
//
//   thread   poll ── reading_ = odd ── read the event ── mark ── reading_ = even
//   worker   waits while reading_ is odd, then looks at its mark: an event that was read has been marked
//
// Without hooks, and where the system does not allow a userfaultfd (a container's seccomp filter, another
// kernel) or does not watch the memory (files), nothing is watched, and registrations are not kept.
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
  enum class Source { any, hooks, kernel };  ///< any: hooks where there are
  /// The process's, whose source the first user chose; null where there is none. Ends with its last user.
  static std::shared_ptr<MemoryWatch> get(Source source, const stria_services_t& services) noexcept;
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  /// Who tells, in words.
  const char* told_by() const noexcept;

  static constexpr int kNone = -1;
  /// Watches whole pages from now on; the mark's number, or kNone. Any thread.
  int add(std::uintptr_t begin, std::uintptr_t end) noexcept;
  void remove(int mark) noexcept;
  /// Some of the memory went away since add(), as far as any call that took it away returned.
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
    std::atomic<std::uintptr_t> end{0};  // 0: free
    std::atomic<bool> taken{false};
    std::atomic<bool> gone{false};
    std::atomic<bool> away{false};  // not only its pages: the addresses may be somebody else's mapping
  };
  static constexpr int kMarks = 4096;
  std::array<Mark, kMarks> marks_;
  std::atomic<int> used_{0};  // marks that were ever taken
  std::atomic<std::uint32_t> reading_{0};
  std::atomic<bool> stopping_{false};
  const stria_services_t* hooks_ = nullptr;  // with hooks
  UniqueFd fd_;                              // without; its thread closes it
  UniqueFd wake_;
  std::mutex changing_;  // guards which memory the kernel watches, for add() and remove()
  pid_t owner_ = 0;      // whose memory that is
  std::thread thread_;
};

}  // namespace stria::verbs
