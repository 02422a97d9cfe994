#include "tests/tag/counted_memory.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

// The door of a shm device is a second thread, which allocates now and then.
std::atomic<std::size_t> in_use{0};
std::atomic<std::uint64_t> made{0};

std::size_t taken_by(void* memory) noexcept {
  return malloc_usable_size(memory) + sizeof(std::size_t);
}
void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  void* memory = alignment == 0
                     ? std::malloc(bytes != 0 ? bytes : 1)
                     : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory != nullptr) {
    in_use += taken_by(memory);
    ++made;
  }
  return memory;
}
void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void release(void* memory) noexcept {
  if (memory != nullptr) in_use -= taken_by(memory);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate_or_throw(bytes, 0);
}
void* operator new[](std::size_t bytes) {
  return allocate_or_throw(bytes, 0);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return allocate(bytes, 0);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return allocate(bytes, 0);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  release(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
  release(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept {
  release(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  release(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::align_val_t) noexcept {
  release(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}

namespace stria::test::counted {

std::size_t bytes() noexcept {
  return in_use.load();
}
std::uint64_t allocations() noexcept {
  return made.load();
}

}  // namespace stria::test::counted
