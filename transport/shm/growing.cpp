#include "transport/shm/growing.hpp"

#include <sched.h>

#include <type_traits>

#include "base/cache_line.hpp"

namespace stria::shm {
namespace {

constexpr unsigned kSpins = 2000;          // some microseconds: the sender is at it
constexpr unsigned kYieldsForALook = 256;  // a look is a system call

}  // namespace

static_assert(std::is_standard_layout_v<Growing>);

std::uint32_t Growing::wait_for_more(std::uint32_t bytes) const noexcept {
  const std::uint32_t all = arriving_.packet.bytes;
  for (unsigned rounds = 0;; ++rounds) {
    // Never more than all, whatever a peer writes. Acquire: pairs with grow().
    const std::uint32_t there = std::min(grown_bytes(word_->load(std::memory_order_acquire), use_), all);
    if (there >= bytes) return there;
    if (rounds < kSpins) {
      cpu_relax();
      continue;
    }
    ::sched_yield();
    if (rounds % kYieldsForALook != 0 || sender_->is_alive()) continue;
    // What it wrote before it died counts.
    const std::uint32_t last = std::min(grown_bytes(word_->load(std::memory_order_acquire), use_), all);
    return last >= bytes ? last : 0;
  }
}

}  // namespace stria::shm
