// Processor instructions that C++ has no word for, each with a form that is right on every machine. Code
// outside this file, base/processor.cpp and the vector kernels (hw/line_copy.hpp, datatype/kernels/) names no
// processor; tools/check_arrows looks for that. Memory orders are not here: they are std::atomic's, and
// hw/pio.hpp has the fences.
//
// No header of intrinsics is included: <immintrin.h> is half of what a source of the library would read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stria {

/// Pauses a spin loop for some tens of nanoseconds. ARM's YIELD takes no time on most processors, so
/// the pause is an ISB there, which waits until the pipeline is empty, as x86's PAUSE does.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#else
  asm volatile("" ::: "memory");
#endif
}

/// An address that names the calling thread. The address of a thread-local would do, which in a shared
/// library takes a call; the ABIs keep one in a register.
inline const void* this_thread() noexcept {
#if defined(__x86_64__)
  const void* thread;
  asm("mov %%fs:0, %0" : "=r"(thread));
  return thread;
#elif defined(__aarch64__)
  return __builtin_thread_pointer();
#else
  static thread_local char anchor;
  return &anchor;
#endif
}

/// Asks for the line of `at` as one that will be written.
inline void prefetch_to_write(std::byte* at) noexcept {
#if defined(__x86_64__)
  // The baseline has no such instruction, and the compiler would ask for a copy that the store has to ask for
  // again. Where a processor does not know it, it does nothing.
  asm volatile("prefetchw %0" : : "m"(*at));
#else
  __builtin_prefetch(at, 1);
#endif
}

/// Copies as the processor's instruction for strings does, where there is one. Ordered as ordinary stores.
inline void copy_string(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
#if defined(__x86_64__)
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
  std::memcpy(to, from, bytes);
#endif
}

/// For measuring: a clock that is read next is read when all that `word` was computed from is loaded. On
/// x86-64 the clock's own fence does that; ARM's orders instructions and waits for no load.
inline void wait_for_loads(std::uint64_t& word) noexcept {
#if defined(__aarch64__)
  asm volatile("dsb ishld" : "+r"(word) : : "memory");
#else
  asm volatile("" : "+r"(word));
#endif
}
/// The same of all stores, after a full fence: that waits for them on x86-64, and on ARM only orders them.
inline void wait_for_stores() noexcept {
#if defined(__aarch64__)
  asm volatile("dsb ish" : : : "memory");
#endif
}

}  // namespace stria
