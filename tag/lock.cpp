#include "tag/lock.hpp"

#include <sched.h>
#include <time.h>

namespace stria::tag {
namespace {

// docs/notebook/kernels.md says how long a pause takes.
// Pauses of a thread between two looks at the lock:
constexpr std::uint32_t kLookPauses = 4;     // at first, and while it asks: an operation may end meanwhile
constexpr std::uint32_t kPollPauses = 8;     // of a round of progress that finds the lock taken
constexpr std::uint32_t kPolitePauses = 16;  // while another thread asks, and after such a round in vain
constexpr std::uint32_t kAwayPauses = 256;   // while the owner works
// How often a thread stays away before it asks, so that the owner has the worker for a while.
constexpr unsigned kTimesAway = 3;
// After so many looks a thread takes the lock before another that asks, as that does not seem to run.
constexpr unsigned kPoliteLooks = 16;
// Pauses after which a thread that waits yields, as the owner may need its core.
constexpr std::uint32_t kSpinPauses = 4096;
constexpr unsigned kYields = 192;  // then the thread naps instead
constexpr long kNapNs = 50000;

void stay_away(std::uint32_t pauses) noexcept {
  for (; pauses > 0; --pauses) cpu_relax();
}

}  // namespace

bool WorkerLock::is_worked_in(std::uint32_t pauses) const noexcept {
  const std::uint32_t before = turns_.load(std::memory_order_relaxed);
  stay_away(pauses);
  return turns_.load(std::memory_order_relaxed) - before > 1;
}

bool WorkerLock::try_later(const void* me) noexcept {
  if (is_worked_in(kPollPauses)) {
    stay_away(kPolitePauses);
    return false;
  }
  return take(me);  // also while another thread asks, since a look is short
}

void WorkerLock::wait(const void* me) noexcept {
  unsigned times_away = 0, polite = 0, yields = 0;
  std::uint32_t waited = 0, pauses = kLookPauses;
  for (;;) {
    waited += pauses;
    const bool worked_in = is_worked_in(pauses);
    const void* asker = asker_.load(std::memory_order_relaxed);
    if (asker == nullptr && (!worked_in || times_away >= kTimesAway) &&
        asker_.compare_exchange_strong(asker, me, std::memory_order_relaxed))
      asker = me;
    if ((asker == me || polite >= kPoliteLooks) && take(me)) {
      if (asker == me) asker_.store(nullptr, std::memory_order_relaxed);
      return;
    }
    if (asker == me) {
      pauses = kLookPauses;
    } else if (asker == nullptr && worked_in) {
      pauses = kAwayPauses;
      ++times_away;
    } else {
      pauses = kPolitePauses;
      ++polite;
    }
    if (waited < kSpinPauses) continue;
    if (++yields <= kYields) {
      ::sched_yield();
    } else {
      const timespec nap{0, kNapNs};
      ::nanosleep(&nap, nullptr);
    }
  }
}

}  // namespace stria::tag
