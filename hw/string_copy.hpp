// Copies by the processor's own instruction for strings (REP MOVSB). Where it knows that whole lines will be
// written, it takes them without reading them first: so what another core has, or had, is not fetched from
// there only to be overwritten. Between cores that share no cache this is what counts: 64 KiB into memory
// that the other core read last take 3 us where a loop of stores takes 8, and unlike stores past the caches
// it leaves the bytes where a near core finds them. Whether it is fast: processor().fast_strings
// (base/processor.hpp). Every x86-64 processor can run it; on others it is never said to be fast.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cache_line.hpp"
#include "base/instructions.hpp"

namespace stria::hw {

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
  copy_string(to, from, bytes);
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
