// What engines do with a provider's key: copy it, and read the bits of one whose memory peers map.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/words.hpp"
#include "stria/provider_coresident.h"

namespace stria::transport {

/// Whether a key of a device with STRIA_CAP_MAP_MEMORY names memory that peers map. In keys of other devices
/// the byte means something else: ask LinkRef::can_map first.
template <class AnyKey>
bool is_mapped(const AnyKey& key) noexcept {
  return key.bytes > STRIA_KEY_FLAGS_AT && (key.data[STRIA_KEY_FLAGS_AT] & STRIA_KEY_MAPPED) != 0;
}

/// Copies a key, or a descriptor of memory, as base/words.hpp says; 16 bytes are what most keys of one host
/// have.
template <class From>
void copy_key_bytes(void* to, const From& from) noexcept {
  if (from.bytes == 16)
    copy_words<16>(to, from.data);
  else
    std::memcpy(to, from.data, from.bytes);
}
template <class To, class From>
void copy_key(To& to, const From& from) noexcept {
  to.bytes = from.bytes;
  copy_key_bytes(to.data, from);
}
/// Cuts off what a stored key can do without (STRIA_KEY_HINT). Only of keys of which is_mapped() may be
/// asked.
template <class AnyKey>
void drop_hint(AnyKey& key) noexcept {
  if (key.bytes <= STRIA_KEY_FLAGS_AT || (key.data[STRIA_KEY_FLAGS_AT] & STRIA_KEY_HINT) == 0) return;
  key.data[STRIA_KEY_FLAGS_AT] &= static_cast<std::uint8_t>(~STRIA_KEY_HINT);
  key.bytes = STRIA_KEY_FLAGS_AT + (key.data[STRIA_KEY_FLAGS_AT] != 0 ? 1u : 0u);
}

}  // namespace stria::transport
