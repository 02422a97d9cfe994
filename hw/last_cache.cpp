#include "hw/last_cache.hpp"

#include <sched.h>

#include <algorithm>

#include "base/processor_identity.hpp"

namespace stria::hw {

std::uint32_t number_of_cache(const Neighbours& neighbours, bool may_be_guest) noexcept {
  if (may_be_guest || neighbours.cache.empty()) return kNoCache;
  return std::ranges::min(neighbours.cache) + 1;
}

std::uint32_t last_cache_of(unsigned processor) {
  return may_be_guest() ? kNoCache : number_of_cache(neighbours_of(processor), false);
}

bool LastCache::has_changed() noexcept {
  const int processor = ::sched_getcpu();
  if (processor == processor_) return false;
  const std::uint32_t before = number_;
  try {
    number_ = processor < 0 ? kNoCache : ask_(static_cast<unsigned>(processor));
    processor_ = processor;
  } catch (...) {  // no memory: the next call asks again
    number_ = kNoCache;
  }
  return number_ != before;
}

}  // namespace stria::hw
