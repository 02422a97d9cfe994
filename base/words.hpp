// Copies of small descriptors, a word at a time. A vector load of two fields that were just stored one by one
// cannot be forwarded from the store buffer: it waits until every earlier store is in the cache, those of a
// message to another core among them. Loads as wide as the stores before them do not wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace stria {

/// Copies kBytes, a multiple of 8. For code built with stria_message_path() (cmake/StriaTargets.cmake): else
/// the compiler makes vectors of it again.
template <std::size_t kBytes>
inline void copy_words(void* to, const void* from) noexcept {
  static_assert(kBytes % sizeof(std::uint64_t) == 0);
  const auto move = [&](std::size_t at) {
    std::uint64_t word;
    std::memcpy(&word, static_cast<const std::byte*>(from) + at, sizeof word);
    std::memcpy(static_cast<std::byte*>(to) + at, &word, sizeof word);
  };
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (move(i * sizeof(std::uint64_t)), ...);
  }
  (std::make_index_sequence<kBytes / sizeof(std::uint64_t)>{});
}

}  // namespace stria
