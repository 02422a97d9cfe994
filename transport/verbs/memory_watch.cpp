#include "transport/verbs/memory_watch.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <system_error>

#include "base/signal_block.hpp"

namespace stria::verbs {
namespace {

/// Guards current().
std::mutex& current_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
/// The process's MemoryWatch, if there is one.
std::weak_ptr<MemoryWatch>& current() {
  static auto* watch = new std::weak_ptr<MemoryWatch>;
  return *watch;
}

}  // namespace

std::shared_ptr<MemoryWatch> MemoryWatch::get(Source source, const stria_services_t& services) noexcept try {
  const std::lock_guard lock(current_mutex());
  if (auto known = current().lock()) return known;
  std::shared_ptr<MemoryWatch> made(new MemoryWatch);
  if ((source == Source::kernel || !made->open_hooks(services)) &&
      (source == Source::hooks || !made->open_kernel()))
    return nullptr;
  current() = made;
  return made;
} catch (const std::bad_alloc&) {
  return nullptr;
}

/// What the application's hooks call: [memory, memory + bytes) is about to go away.
void MemoryWatch::released(void* self, const void* memory, std::uint64_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  static_cast<MemoryWatch*>(self)->mark(begin, begin + bytes, true);
}

bool MemoryWatch::open_hooks(const stria_services_t& services) noexcept {
  if (services.watch_memory(&MemoryWatch::released, this) == 0) return false;
  hooks_ = &services;
  return true;
}

const char* MemoryWatch::told_by() const noexcept {
  return hooks_ != nullptr ? "hooks of the application" : "a userfaultfd";
}

bool MemoryWatch::open_kernel() noexcept try {
  // UFFD_USER_MODE_ONLY: page faults of the kernel itself are not wanted, so no privilege is needed.
  fd_.reset(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY)));
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd_ || !wake_) return false;
  constexpr std::uint64_t kWanted = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP |
                                    UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_PAGEFAULT_FLAG_WP;
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = kWanted;
  if (::ioctl(fd_.get(), UFFDIO_API, &api) != 0) return false;
  owner_ = ::getpid();
  const SignalBlock quiet;
  thread_ = std::thread([this] { run(); });
  return true;
} catch (const std::system_error&) {
  return false;
}

MemoryWatch::~MemoryWatch() {
  if (hooks_ != nullptr) hooks_->unwatch_memory(&MemoryWatch::released, this);
  if (!thread_.joinable()) return;
  stopping_.store(true);
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_.get(), &one, sizeof one));
  thread_.join();
}

int MemoryWatch::add(std::uintptr_t begin, std::uintptr_t end) noexcept {
  int number = 0;
  for (; number < kMarks; ++number) {
    bool free = false;
    if (marks_[static_cast<std::size_t>(number)].taken.compare_exchange_strong(free, true)) break;
  }
  if (number == kMarks) return kNone;
  Mark& mark = marks_[static_cast<std::size_t>(number)];
  int used = used_.load();
  while (used <= number && !used_.compare_exchange_weak(used, number + 1)) {
  }
  const std::lock_guard lock(changing_);
  mark.gone.store(false);
  mark.away.store(false);
  mark.begin.store(begin);
  mark.end.store(end);
  if (hooks_ != nullptr) return number;
  // The ioctl demands a mode. Write protection is named, but nothing is ever protected.
  uffdio_register request{};
  request.range = {begin, end - begin};
  request.mode = UFFDIO_REGISTER_MODE_WP;
  if (::ioctl(fd_.get(), UFFDIO_REGISTER, &request) == 0) return number;
  mark.end.store(0);  // refused: another userfaultfd may watch this memory, and is left alone
  mark.taken.store(false);
  return kNone;
}

void MemoryWatch::remove(int number) noexcept {
  Mark& mark = marks_[static_cast<std::size_t>(number)];
  // Not in a forked child: it has copies of the marks, but fd_ watches the memory of its parent.
  if (hooks_ == nullptr && ::getpid() == owner_) {
    const std::lock_guard lock(changing_);
    static_cast<void>(is_gone(number));  // waits until the events that were read have been marked
    const std::uintptr_t begin = mark.begin.load(), end = mark.end.load();
    mark.end.store(0);
    if (!mark.away.load()) unwatch(begin, end);
  }
  mark.end.store(0);
  mark.taken.store(false);
}

/// Ends the kernel's watch of those parts of [begin, end) that no mark covers any more. Each watched range is
/// a mapping of its own for the kernel, and the number of mappings of a process is limited.
void MemoryWatch::unwatch(std::uintptr_t begin, std::uintptr_t end) noexcept {
  const int used = used_.load();
  while (begin < end) {
    std::uintptr_t covered = begin, next = end;
    for (int i = 0; i < used; ++i) {
      const Mark& other = marks_[static_cast<std::size_t>(i)];
      const std::uintptr_t from = other.begin.load(), to = other.end.load();
      if (from <= begin)
        covered = std::max(covered, to);
      else if (to != 0)
        next = std::min(next, from);
    }
    if (covered == begin) {
      uffdio_range range{begin, next - begin};
      // If the call is refused, other memory lies there now.
      static_cast<void>(::ioctl(fd_.get(), UFFDIO_UNREGISTER, &range));
      covered = next;
    }
    begin = covered;
  }
}

bool MemoryWatch::is_gone(int number) noexcept {
  while ((reading_.load() & 1) != 0) ::sched_yield();
  return marks_[static_cast<std::size_t>(number)].gone.load();
}

/// Marks every watched range that overlaps [begin, end). is_away: the addresses go away, not only the pages.
void MemoryWatch::mark(std::uintptr_t begin, std::uintptr_t end, bool is_away) noexcept {
  const int used = used_.load();
  for (int i = 0; i < used; ++i) {
    Mark& mark = marks_[static_cast<std::size_t>(i)];
    if (mark.begin.load() >= end || begin >= mark.end.load()) continue;
    if (is_away) mark.away.store(true);
    mark.gone.store(true);
  }
}

/// Reads the kernel's events, on the thread of its own, until it is to stop.
void MemoryWatch::run() noexcept {
  while (!stopping_.load()) {
    pollfd fds[2] = {{fd_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0 || (fds[0].revents & POLLIN) == 0) continue;
    reading_.fetch_add(1);
    uffd_msg event{};
    while (::read(fd_.get(), &event, sizeof event) == static_cast<ssize_t>(sizeof event)) {
      if (event.event == UFFD_EVENT_REMAP)
        mark(event.arg.remap.from, event.arg.remap.from + event.arg.remap.len, true);
      else if (event.event == UFFD_EVENT_UNMAP || event.event == UFFD_EVENT_REMOVE)
        mark(event.arg.remove.start, event.arg.remove.end, event.event == UFFD_EVENT_UNMAP);
    }
    reading_.fetch_add(1);
  }
  // Lets threads go on that wait for an event to be read: they may hold what the end of a thread needs.
  fd_.reset();
}

}  // namespace stria::verbs
