#include "tag/lock.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>

#include "base/cache_line.hpp"

namespace stria::tag {
namespace {

constexpr std::uint32_t kMostPauses = 128;  // about 4 us between two looks
constexpr unsigned kPoliteLooks = 16;  // after so many a thread asks; longer nobody waits for one that asked
constexpr unsigned kSpinLooks = 64;    // about 100 us; then the owner may need this core
constexpr unsigned kYieldLooks = 256;
constexpr long kNapNs = 50000;

}  // namespace

void WorkerLock::stay_away(std::uint32_t pauses) noexcept {
  for (; pauses > 0; --pauses) cpu_relax();
}

void WorkerLock::wait(const void* me) noexcept {
  std::uint32_t pauses = 4;
  for (unsigned look = 0;; ++look) {
    const void* asker = asker_.load(std::memory_order_relaxed);
    if ((asker == nullptr || asker == me || look >= kPoliteLooks) && take(me)) {
      if (asker == me) asker_.store(nullptr, std::memory_order_relaxed);
      return;
    }
    if (look >= kPoliteLooks && asker == nullptr)
      asker_.compare_exchange_strong(asker, me, std::memory_order_relaxed);
    if (look < kSpinLooks) {
      stay_away(pauses);
      pauses = std::min(2 * pauses, kMostPauses);
    } else if (look < kYieldLooks) {
      ::sched_yield();
    } else {
      const timespec nap{0, kNapNs};
      ::nanosleep(&nap, nullptr);
    }
  }
}

}  // namespace stria::tag
