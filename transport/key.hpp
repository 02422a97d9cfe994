// What engines do with a provider's key: copy it, and read the flags of a key whose memory peers map.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/words.hpp"
#include "stria/provider_coresident.h"

namespace stria::transport {

/// Whether a key names memory that peers map. Only for keys of a device with STRIA_CAP_MAP_MEMORY: in keys of
/// other devices the byte of the flags means something else. So ask LinkRef::can_map first.
template <class AnyKey>
bool is_mapped(const AnyKey& key) noexcept {
  return key.bytes > STRIA_KEY_FLAGS_AT && (key.data[STRIA_KEY_FLAGS_AT] & STRIA_KEY_MAPPED) != 0;
}

/// Copies the bytes of a key, or of a descriptor of memory. Most keys within a host have 16 bytes, which are
/// copied by words (base/words.hpp).
template <class From>
void copy_key_bytes(void* to, const From& from) noexcept {
  if (from.bytes == 16)
    copy_words<16>(to, from.data);
  else
    std::memcpy(to, from.data, from.bytes);
}
/// Copies a key with its length.
template <class To, class From>
void copy_key(To& to, const From& from) noexcept {
  to.bytes = from.bytes;
  copy_key_bytes(to.data, from);
}
/// Cuts off the hint of a key (STRIA_KEY_HINT), which a stored key can do without. Only for keys that
/// is_mapped() may be asked of.
template <class AnyKey>
void drop_hint(AnyKey& key) noexcept {
  if (key.bytes <= STRIA_KEY_FLAGS_AT || (key.data[STRIA_KEY_FLAGS_AT] & STRIA_KEY_HINT) == 0) return;
  key.data[STRIA_KEY_FLAGS_AT] &= static_cast<std::uint8_t>(~STRIA_KEY_HINT);
  key.bytes = STRIA_KEY_FLAGS_AT + (key.data[STRIA_KEY_FLAGS_AT] != 0 ? 1u : 0u);
}

}  // namespace stria::transport
