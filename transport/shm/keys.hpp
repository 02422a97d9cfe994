// The bytes of a key of the shm provider.
//
//   | key word 4 | STRIA_KEY_* flags 1 | unused 3 | base address 8 |   cut off behind the last field in use
//
// The base address is a hint, for contiguous memory: with it a get can copy before the key's record, a line
// in the peer's segment, has come (RemoteAccess::get_by_hint()).
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
/// Reads the key word of a key. False: the key is none that a KeyMaker made.
inline bool read_word(const transport::Key& key, hw::KeyWord& word) noexcept {
  const bool mapped = key.bytes == kFlaggedKeyBytes && transport::is_mapped(key);
  if (key.bytes != kPlainKeyBytes && !mapped && !has_hint(key)) return false;
  std::memcpy(&word, key.data, sizeof word);
  return true;
}

}  // namespace stria::shm
