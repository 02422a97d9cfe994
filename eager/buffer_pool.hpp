// Buffers for payload that arrives before its receive, taken from and given back to free lists, so that a
// steady state allocates nothing. Four sizes a doubling from 16 bytes on: a buffer is at most a quarter
// longer than what it holds. What is counted is the memory a buffer takes, the allocator's part included; the
// credits bound that (credit.hpp), and what is free is trimmed so that both together stay within the same
// bound.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stria::eager {

/// Threads: the worker's lock.
class BufferPool {
 public:
  /// Free buffers are kept while they and those in use take at most `limit_bytes`.
  explicit BufferPool(std::uint64_t limit_bytes) noexcept : limit_(limit_bytes) {}
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

  /// A buffer of at least `bytes`; null when memory is out.
  std::byte* take(std::uint64_t bytes) noexcept;
  /// Gives it back; `bytes` as it was taken.
  void give(std::byte* buffer, std::uint64_t bytes) noexcept;

  /// The memory that a buffer for `bytes` takes. Less than twice as much from 17 bytes on, which are the
  /// fewest that anybody keeps in a buffer.
  static std::uint64_t footprint(std::uint64_t bytes) noexcept;

  /// Sums of footprints.
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
