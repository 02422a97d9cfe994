// What both matching queues look up: a key of source index and tag bits, and its hash.
#pragma once

#include <cstdint>

namespace stria::tag {

/// A source index that no peer has.
inline constexpr std::uint32_t kAnySource = ~0u;

/// What has to agree: the source (kAnySource: it does not matter) and the tag's bits that are not ignored.
struct MatchKey {
  std::uint32_t source;
  std::uint64_t tag;
  bool operator==(const MatchKey&) const = default;
};

/// The key of a shape of receive that ignores the source or bits of the tag.
constexpr MatchKey shape_key(std::uint32_t source, std::uint64_t tag, bool any_source,
                             std::uint64_t ignore) noexcept {
  return {any_source ? kAnySource : source, tag & ~ignore};
}

/// Eight neighbouring tags share a line of bins, so that a deep queue that is matched in the order of its
/// tags walks through its table. All other bits are spread, and decide where in the line a tag begins: tags
/// that are multiples of eight do not crowd one place of each line. A table uses the low bits; the product's
/// best ones are its highest, which depend on all of the key, so its bytes are turned round. The source meets
/// the low 24 bits of the factor alone, which are, like all 64, near the golden section of their range.
constexpr std::uint32_t match_hash(const MatchKey& key) noexcept {
  const std::uint64_t rest = (key.tag >> 3) ^ (std::uint64_t{key.source} << 40);
  const std::uint64_t mixed = __builtin_bswap64(rest * 0x9e3779b97f9e3779ull);
  return static_cast<std::uint32_t>(mixed ^ (key.tag & 7));
}

}  // namespace stria::tag
