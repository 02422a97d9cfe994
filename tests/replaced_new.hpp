// Replaces `new` and `delete` of a test program, so that allocations fail when its source says so. To be
// included by one source of a program, which defines may_allocate().
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace stria::test {

/// Whether an allocation of `bytes` bytes succeeds. `is_optional`: of an array, by new(std::nothrow).
bool may_allocate(std::size_t bytes, bool is_optional) noexcept;

inline void* try_allocate(std::size_t bytes, bool is_optional = false) noexcept {
  return may_allocate(bytes, is_optional) ? std::malloc(bytes != 0 ? bytes : 1) : nullptr;
}
inline void* allocate(std::size_t bytes) {
  void* memory = try_allocate(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace stria::test

// All of a kind: a sanitizer takes memory of one that is not replaced for its own. Not inlined: GCC would see
// a free() of what `new` gave, and warn.
void* operator new(std::size_t bytes) {
  return stria::test::allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return stria::test::allocate(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return stria::test::try_allocate(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return stria::test::try_allocate(bytes, true);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
