// What the posted and the unexpected queue look up: a key of source index and tag bits, and its hash.
#pragma once

#include <cstdint>

namespace stria::tag {

/// A source index that no peer has.
inline constexpr std::uint32_t kAnySource = ~0u;

/// What message and receive have to agree in: the source (kAnySource: any) and the bits of the tag that are
/// not ignored.
struct MatchKey {
  std::uint32_t source;
  std::uint64_t tag;
  bool operator==(const MatchKey&) const = default;
};

/// The key of a receive or a message among receives of one shape: those that ignore the source (any_source)
/// and the tag's bits `ignore`.
constexpr MatchKey shape_key(std::uint32_t source, std::uint64_t tag, bool any_source,
                             std::uint64_t ignore) noexcept {
  return {any_source ? kAnySource : source, tag & ~ignore};
}

/// The hash of a key. Eight neighbouring tags fall into one cache line of bins, so that a deep queue that is
/// matched in the order of its tags walks through its table. All other bits are spread, and decide where in
/// the line a tag begins: tags that are multiples of eight do not crowd one place of each line. Programs use
/// regular sources, tags and communicators; a product with one factor for all of the key would map their
/// grids to grids, and crowd some bins. In the wide product of source and tag, folded, each bit of one meets
/// each of the other.
constexpr std::uint32_t match_hash(const MatchKey& key) noexcept {
  constexpr std::uint64_t kOfTag = 0x9e3779b97f4a7c15, kOfSource = 0x6a09e667f3bcc909;
  const auto product = static_cast<unsigned __int128>((key.tag >> 3) ^ kOfTag) * (key.source ^ kOfSource);
  const std::uint64_t folded =
      static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
  return static_cast<std::uint32_t>(folded ^ (key.tag & 7));
}

}  // namespace stria::tag
