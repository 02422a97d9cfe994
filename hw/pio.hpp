// Stores of messages by the CPU into memory that another core or a device polls: another core's cache, or a
// device's window. The unit is the line: what belongs to one line is written back to back, so that the line
// changes hands once, and no byte is first gathered in a temporary (a wide load of bytes just written in
// small pieces waits for the store buffer).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/cache_line.hpp"
#include "base/instructions.hpp"

namespace stria::hw {

/// Copies `bytes` <= 64 with few, possibly overlapping, moves of fixed size. Reads and writes exactly these
/// bytes. Up to 40 bytes, which fit in the line of a record, go in words: control packets are put together
/// from words just before (base/words.hpp).
inline void copy_line(std::byte* to, const std::byte* from, std::uint32_t bytes) noexcept {
  const auto move = [&](auto unit, std::uint32_t at) {
    std::memcpy(&unit, from + at, sizeof unit);
    std::memcpy(to + at, &unit, sizeof unit);
  };
  struct Vector {
    alignas(16) std::byte bytes[16];
  };
  if (bytes > 40) {
    move(Vector{}, 0);
    move(Vector{}, 16);
    if (bytes > 48) move(Vector{}, 32);
    move(Vector{}, bytes - 16);
  } else if (bytes >= 8) {
    move(std::uint64_t{}, 0);
    if (bytes > 16) move(std::uint64_t{}, 8);
    if (bytes > 24) move(std::uint64_t{}, 16);
    if (bytes > 32) move(std::uint64_t{}, 24);
    move(std::uint64_t{}, bytes - 8);
  } else if (bytes >= 4) {
    move(std::uint32_t{}, 0);
    move(std::uint32_t{}, bytes - 4);
  } else if (bytes >= 2) {
    move(std::uint16_t{}, 0);
    move(std::uint16_t{}, bytes - 2);
  } else if (bytes == 1) {
    *to = *from;
  }
}

/// Copies a word or a part of it. `bytes` is 0 to 8; exactly these are read and written.
inline void copy_word(std::byte* to, const std::byte* from, std::uint32_t bytes) noexcept {
  if (bytes == sizeof(std::uint64_t)) [[likely]]
    std::memcpy(to, from, sizeof(std::uint64_t));
  else
    copy_line(to, from, bytes % sizeof(std::uint64_t));
}

/// Copies a message's payload of any length.
inline void copy_lines(std::byte* to, const void* from, std::uint32_t bytes) noexcept {
  if (bytes <= 64) return copy_line(to, static_cast<const std::byte*>(from), bytes);
  // Keeps the compiler from making a string instruction, which it does of a length that it knows to be short:
  // the instruction takes long to start (docs/notebook/shm.md).
  asm("" : "+r"(bytes));
  std::memcpy(to, from, bytes);
}

/// Most bytes that prefetch_lines() and prefetch_lines_to_write() prefetch.
inline constexpr std::uint32_t kPrefetchMost = 4096;
/// Prefetches the lines of [at, at + bytes), at most kPrefetchMost bytes of them, all at once. For packed
/// bytes that another core has written, or will read, next to a strided side: a kernel that has few accesses
/// under way, as strides need it, would wait for the other core's lines one after the other.
inline void prefetch_lines(const std::byte* at, std::uint32_t bytes) noexcept {
  for (std::uint32_t i = 0; i < bytes && i < kPrefetchMost; i += kCacheLine) __builtin_prefetch(at + i);
}
/// Prefetches the lines of [at, at + bytes), at most kPrefetchMost bytes of them, for writing.
inline void prefetch_lines_to_write(std::byte* at, std::uint32_t bytes) noexcept {
  for (std::uint32_t i = 0; i < bytes && i < kPrefetchMost; i += kCacheLine) prefetch_to_write(at + i);
}

/// Loads the word that makes a message visible, before all that follows; pairs with publish_word().
/// `at` is 8-byte aligned shared memory.
inline std::uint64_t load_word(const std::byte* at) noexcept {
  return reinterpret_cast<const std::atomic<std::uint64_t>*>(at)->load(std::memory_order_acquire);
}
/// Loads a word without an order of its own; for measuring how lines come, many at a time.
inline std::uint64_t load_word_unordered(const std::byte* at) noexcept {
  return reinterpret_cast<const std::atomic<std::uint64_t>*>(at)->load(std::memory_order_relaxed);
}
/// Stores the word that makes a message visible, after everything stored before; pairs with load_word().
inline void publish_word(std::byte* at, std::uint64_t value) noexcept {
  reinterpret_cast<std::atomic<std::uint64_t>*>(at)->store(value, std::memory_order_release);
}
/// Stores a word without an order of its own: a later publish_word() covers it.
inline void store_word(std::byte* at, std::uint64_t value) noexcept {
  reinterpret_cast<std::atomic<std::uint64_t>*>(at)->store(value, std::memory_order_relaxed);
}
static_assert(sizeof(std::atomic<std::uint64_t>) == 8 && std::atomic<std::uint64_t>::is_always_lock_free);

// ThreadSanitizer does not model fences, and GCC warns of them. Everything that these fences order is atomic,
// or lies in two mappings of one memory, which ThreadSanitizer could not relate anyway.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
/// Every earlier store is visible before any later load.
inline void full_fence() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
/// Every earlier load is done before any later load or store.
inline void load_fence() noexcept {
  std::atomic_thread_fence(std::memory_order_acquire);
}
/// Every earlier load and store is done before any later store. A store with release alone lets later stores
/// go before it.
inline void store_fence() noexcept {
  std::atomic_thread_fence(std::memory_order_release);
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace stria::hw
