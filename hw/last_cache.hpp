// Which last-level cache a core uses, as far as the system is to be believed: the number of the cache, the
// same for all cores that share it.
#pragma once

#include <cstdint>

#include "hw/machine/processors.hpp"

namespace stria::hw {

/// In place of a cache's number: the system does not tell which cache it is.
inline constexpr std::uint32_t kNoCache = 0;

/// The number of the cache of one processor. kNoCache in a virtual machine, whose processors move between
/// the cores of the host while it runs, whatever its system says of caches.
std::uint32_t number_of_cache(const Neighbours& neighbours, bool may_be_guest) noexcept;
/// number_of_cache() of a processor of this machine; reads files of the system.
std::uint32_t last_cache_of(unsigned processor);

/// The last-level cache of the core that the calling thread runs on. One thread.
class LastCache {
 public:
  using Ask = std::uint32_t (*)(unsigned processor);
  explicit LastCache(Ask ask = last_cache_of) noexcept : ask_(ask) {}

  /// Finds out the cache of the core that the thread runs on now; asks the system only when the thread has
  /// moved since the last call. True: it is another cache than before. Not for the data path.
  bool has_changed() noexcept;
  /// The number of the cache when has_changed() was last called, or kNoCache.
  std::uint32_t number() const noexcept { return number_; }

 private:
  Ask ask_;
  int processor_ = -1;  // the processor that the thread ran on at the last call
  std::uint32_t number_ = kNoCache;
};

}  // namespace stria::hw
