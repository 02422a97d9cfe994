#include "transport/shm/growing.hpp"

#include <type_traits>

#include "base/instructions.hpp"

namespace stria::shm {
namespace {

constexpr unsigned kSpins = 2000;  // takes longer than any step of a sender that runs

}  // namespace

static_assert(std::is_standard_layout_v<Growing>);

std::uint32_t wait_grown(const std::atomic<std::uint64_t>& word, std::uint32_t use, std::uint32_t bytes,
                         std::uint32_t all) noexcept {
  for (unsigned spins = 0;; ++spins) {
    // Acquire: pairs with the release in grow(); the bytes are there.
    const std::uint32_t there = std::min(grown_bytes(word.load(std::memory_order_acquire), use), all);
    if (there >= bytes || spins == kSpins) return there;
    cpu_relax();
  }
}

}  // namespace stria::shm
