// Copies by the processor's own instruction for strings (REP MOVSB). Where the processor knows that whole
// lines will be written, it takes them without reading them first: so lines that another core has, or had,
// are not fetched only to be overwritten. Between cores that share no cache this is what counts, and unlike
// non-temporal stores it leaves the bytes where a near core finds them (docs/notebook/shm.md). Whether the
// instruction is fast: processor().fast_strings (base/processor.hpp). Every x86-64 processor can run it; on
// others it is never said to be fast.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cache_line.hpp"
#include "base/instructions.hpp"

namespace stria::hw {

/// Whether the string instruction is as fast between these places as it can be: `to` is the start of a line,
/// and does not lie behind `from` by less than a line, in terms of places in a page. Some processors are slow
/// where it does (docs/notebook/shm.md, strings_suit).
inline bool strings_suit(const std::byte* to, const std::byte* from) noexcept {
  constexpr std::uintptr_t kPage = 4096;
  const auto target = reinterpret_cast<std::uintptr_t>(to);
  const std::uintptr_t behind = (target - reinterpret_cast<std::uintptr_t>(from)) % kPage;
  return target % kCacheLine == 0 && (behind == 0 || behind >= kCacheLine);
}

/// Copies by the string instruction, where there is one. Ordered as ordinary stores are.
inline void string_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  copy_string(to, from, bytes);
}

/// Copies to any place by the string instruction; the bytes before the first whole line go ordinarily. False:
/// nothing was copied, because no line begins in the target, or the instruction does not suit these places.
inline bool string_copy_anywhere(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % kCacheLine;
  if (bytes < head || !strings_suit(to + head, from + head)) return false;
  __builtin_memcpy(to, from, head);
  string_copy(to + head, from + head, bytes - head);
  return true;
}

}  // namespace stria::hw
