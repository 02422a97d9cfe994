// Copies by the processor's own instruction for strings (REP MOVSB). Where it knows that whole lines will be
// written, it takes them without reading them first: so what another core has, or had, is not fetched from
// there only to be overwritten. Between cores that share no cache this is what counts: 64 KiB into memory
// that the other core read last take 3 us where a loop of stores takes 8, and unlike stores past the caches
// it leaves the bytes where a near core finds them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cache_line.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace stria::hw {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;  // sanitizers do not see what the instruction reads and writes
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

/// Whether the processor says that the instruction is fast at any length (FSRM: Zen 3, Ice Lake and on). Asks
/// it each time: keep the answer.
inline bool has_fast_strings() noexcept {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kFsrm = 1u << 4;
  return !kSanitized && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kFsrm) != 0;
#else
  return false;
#endif
}

/// Whether the instruction is as fast between these places as it can be: `to` is the start of a line, and not
/// less than a line behind `from`, in terms of places in a page. There Zen 3 takes 2 to 4 bytes a ns instead
/// of 40 to 90.
inline bool strings_suit(const std::byte* to, const std::byte* from) noexcept {
  constexpr std::uintptr_t kPage = 4096;
  const auto target = reinterpret_cast<std::uintptr_t>(to);
  const std::uintptr_t behind = (target - reinterpret_cast<std::uintptr_t>(from)) % kPage;
  return target % kCacheLine == 0 && (behind == 0 || behind >= kCacheLine);
}

/// Ordered as ordinary stores are.
inline void string_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
#if defined(__x86_64__)
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
  __builtin_memcpy(to, from, bytes);
#endif
}

/// The same to any place: the bytes before its first whole line go ordinarily. False: nothing was copied, as
/// the instruction does not suit these places.
inline bool string_copy_anywhere(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % kCacheLine;
  if (bytes < head || !strings_suit(to + head, from + head)) return false;
  __builtin_memcpy(to, from, head);
  string_copy(to + head, from + head, bytes - head);
  return true;
}

}  // namespace stria::hw
