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

std::uint32_t wait_grown(const std::atomic<std::uint64_t>& word, std::uint32_t use, std::uint32_t bytes,
                         std::uint32_t all, const Attached& sender) noexcept {
  // Acquire: pairs with grow().
  const auto grown = [&] { return std::min(grown_bytes(word.load(std::memory_order_acquire), use), all); };
  for (unsigned rounds = 0;; ++rounds) {
    const std::uint32_t there = grown();
    if (there >= bytes) return there;
    if (rounds < kSpins) {
      cpu_relax();
      continue;
    }
    ::sched_yield();
    if (rounds % kYieldsForALook != 0 || sender.is_alive()) continue;
    const std::uint32_t last = grown();  // what it wrote before it died counts
    return last >= bytes ? last : 0;
  }
}

}  // namespace stria::shm
