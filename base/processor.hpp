// Which processor this is, where what is fastest depends on it and no flag of it tells.
#pragma once

#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace stria {

/// The family of a processor of AMD: 0x19 for Zen 3 and 4, 0x1a for Zen 5; 0: it is another's. Asks it each
/// time: keep the answer.
inline unsigned amd_family() noexcept {
#if defined(__x86_64__)
  unsigned version = 0, b = 0, c = 0, d = 0;
  __builtin_cpu_init();
  if (__builtin_cpu_is("amd") && __get_cpuid(1, &version, &b, &c, &d) != 0)
    return ((version >> 8) & 0xf) + ((version >> 20) & 0xff);
#endif
  return 0;
}

/// Zen 5, or a later one of that make: its cores have more stores under way than those before.
inline bool is_zen5_or_later() noexcept {
  return amd_family() >= 0x1a;
}

/// Bytes of a core's first-level data cache; 0: nobody tells.
inline long first_cache_bytes() noexcept {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  return sysconf(_SC_LEVEL1_DCACHE_SIZE);
#else
  return 0;
#endif
}

}  // namespace stria
