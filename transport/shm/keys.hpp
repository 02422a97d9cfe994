// The bytes of a key.
//
//   | word 4 | STRIA_KEY_* 1 | - 3 | base address 8 |   cut off behind the last
//   that says something
//
// The base is the hint of contiguous memory: with it a get need not wait for the key's record, a line of the
// peer's, before it copies.
#pragma once

#include <cstdint>
#include <cstring>

#include "hw/key_table.hpp"
#include "transport/contract.hpp"
#include "transport/key.hpp"

namespace stria::shm {

inline constexpr std::uint32_t kPlainKeyBytes = sizeof(hw::KeyWord);
inline constexpr std::uint32_t kFlaggedKeyBytes = kPlainKeyBytes + 1;
inline constexpr std::uint32_t kKeyBaseAt = 8;
inline constexpr std::uint32_t kHintedKeyBytes = kKeyBaseAt + sizeof(std::uint64_t);
inline bool has_hint(const transport::Key& key) noexcept {
  return key.bytes == kHintedKeyBytes && key.data[STRIA_KEY_FLAGS_AT] == STRIA_KEY_HINT;
}
/// The word of a key as KeyMaker made it; false: it is none.
inline bool read_word(const transport::Key& key, hw::KeyWord& word) noexcept {
  const bool mapped = key.bytes == kFlaggedKeyBytes && transport::is_mapped(key);
  if (key.bytes != kPlainKeyBytes && !mapped && !has_hint(key)) return false;
  std::memcpy(&word, key.data, sizeof word);
  return true;
}

}  // namespace stria::shm
