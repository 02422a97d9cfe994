// Buffers for payload that arrives before its receive, taken from and given back to free lists, so that a
// steady state allocates nothing. Four sizes a doubling: a buffer is at most a quarter longer than what it
// holds, but no shorter than 32 bytes. The credits bound what is held; what is free is trimmed to the same
// bound.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stria::eager {

/// Threads: the worker's lock.
class BufferPool {
 public:
  /// Keeps at most `cache_bytes` of free buffers.
  explicit BufferPool(std::uint64_t cache_bytes) noexcept : cache_limit_(cache_bytes) {}
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

  /// A buffer of at least `bytes`; null when memory is out.
  std::byte* take(std::uint64_t bytes) noexcept;
  /// Gives it back; `bytes` as it was taken.
  void give(std::byte* buffer, std::uint64_t bytes) noexcept;

  std::uint64_t in_use() const noexcept { return in_use_; }
  std::uint64_t in_use_max() const noexcept { return in_use_max_; }

 private:
  struct Free {
    Free* next;
  };
  static constexpr unsigned kSmallest = 5;  // 32 bytes
  static constexpr unsigned kDoublings = 40;
  static constexpr unsigned kClasses = 1 + 4 * kDoublings;
  static unsigned class_of(std::uint64_t bytes) noexcept;
  static std::uint64_t size_of(unsigned index) noexcept;
  void trim() noexcept;

  std::array<Free*, kClasses> free_{};
  std::uint64_t cache_limit_;
  std::uint64_t cached_ = 0;
  std::uint64_t in_use_ = 0;
  std::uint64_t in_use_max_ = 0;
};

}  // namespace stria::eager
