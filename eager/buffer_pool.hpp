// Buffers for payload that arrives before its receive. They are taken from and given back to free lists, so
// that a steady state allocates nothing. Each doubling of the length, from 16 bytes on, has four sizes: from
// 17 bytes on a buffer is at most a quarter longer than what it holds. The pool counts the memory that a
// buffer takes, the allocator's part included. Credits bound the memory of the buffers in use (credit.hpp),
// and free buffers are trimmed so that both together stay within the same bound.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stria::eager {

/// The buffers of one worker. Threads: one at a time, under the worker's lock.
class BufferPool {
 public:
  /// Keeps free buffers while they and those in use take at most `limit_bytes` of memory.
  explicit BufferPool(std::uint64_t limit_bytes) noexcept : limit_(limit_bytes) {}
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

  /// Takes a buffer of at least `bytes` bytes. Null: there is no memory.
  std::byte* acquire(std::uint64_t bytes) noexcept;
  /// Gives back a buffer that acquire(bytes) has returned.
  void release(std::byte* buffer, std::uint64_t bytes) noexcept;

  /// The memory, in bytes, that a buffer for `bytes` bytes takes. From 17 bytes on, the fewest that are kept
  /// in a buffer, it is less than twice `bytes`.
  static std::uint64_t footprint(std::uint64_t bytes) noexcept;

  /// Sums of footprints: of the buffers in use, the most there ever was of these, and of the free buffers.
  std::uint64_t in_use() const noexcept { return in_use_; }
  std::uint64_t in_use_max() const noexcept { return in_use_max_; }
  std::uint64_t cached() const noexcept { return cached_; }

 private:
  struct Free {
    Free* next;
  };
  static constexpr unsigned kSmallestLog2 = 4;
  static constexpr unsigned kDoublings = 40;
  static constexpr unsigned kClasses = 4 * kDoublings;
  /// The class of the shortest buffers that hold `bytes` bytes.
  static unsigned class_of(std::uint64_t bytes) noexcept;
  static std::uint64_t size_of(unsigned index) noexcept;
  static std::uint64_t footprint_of(unsigned index) noexcept;
  void trim() noexcept;

  std::array<Free*, kClasses> free_{};
  std::uint64_t limit_;
  std::uint64_t cached_ = 0;
  std::uint64_t in_use_ = 0;
  std::uint64_t in_use_max_ = 0;
};

}  // namespace stria::eager
