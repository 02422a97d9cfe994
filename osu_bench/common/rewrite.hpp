// What a program does with a message beside sending it: it writes all of it before, and the other side reads
// all of it. Where the same bytes are sent again and again, their lines stay in both caches, which hides what
// it costs to get them back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stria::bench {

/// Writes every byte: words that count from `first`.
inline void write_all(std::byte* to, std::size_t bytes, std::uint64_t first) noexcept {
  const std::size_t words = bytes / sizeof(first);
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t word = first + i;
    std::memcpy(to + i * sizeof(word), &word, sizeof(word));
  }
  for (std::size_t at = words * sizeof(first); at < bytes; ++at) to[at] = static_cast<std::byte>(first + at);
}

/// Reads every byte.
inline void read_all(const std::byte* from, std::size_t bytes) noexcept {
  std::uint64_t sum = 0;
  const std::size_t words = bytes / sizeof(sum);
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t word;
    std::memcpy(&word, from + i * sizeof(word), sizeof(word));
    sum += word;
  }
  for (std::size_t at = words * sizeof(sum); at < bytes; ++at) sum += static_cast<std::uint64_t>(from[at]);
  asm volatile("" : : "r"(sum));
}

}  // namespace stria::bench
