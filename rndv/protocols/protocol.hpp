// Protocol: a way to move the bytes of an announced message, as a constant value. Each protocol has a file of
// its own, which says when it applies and what it costs; list.hpp has all of them. choose() (cost_model.hpp)
// goes over that list, so a new protocol is a file and an entry of the list; Acceptor begins it by its
// `start`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "rndv/cost_model.hpp"

namespace stria::rndv {

/// How a receiver begins.
enum class Start : std::uint8_t {
  finishes,   ///< there is nothing to move: FIN
  reads,      ///< reads from the beginning through the sender's key
  shares,     ///< asks the sender to store its part through a key of the receiver's, and reads the other
  fragments,  ///< asks for fragments
};

struct Protocol {
  Scheme scheme;
  std::string_view name;
  Start start;
  std::uint8_t forced_by;  ///< values of Force that want it, a bit each (bits_of)
  bool (*applies)(const Question& question) noexcept;
  double (*cost_us)(const Question& question) noexcept;
  /// Why it is taken where it costs least, for people; constant text.
  const char* (*reason)(const Question& question) noexcept;
};

constexpr std::uint8_t bits_of(std::initializer_list<Force> forces) noexcept {
  unsigned bits = 0;
  for (const Force force : forces) bits |= 1u << static_cast<unsigned>(force);
  return static_cast<std::uint8_t>(bits);
}

// What several protocols' costs are made of.

inline constexpr double kCacheKib = 2048;  // longer messages outgrow the caches

inline double kib_of(const Question& q) noexcept {
  return static_cast<double>(q.length) / 1024.0;
}
/// How many blocks a message has at a side whose mean block is `block`.
inline double blocks_of(std::uint64_t length, std::uint32_t block) noexcept {
  if (block == 0) return 1.0;
  return std::max(1.0, static_cast<double>(length) / block);
}
inline double source_blocks(const Question& q) noexcept {
  return blocks_of(q.length, q.source_block);
}
inline double sink_blocks(const Question& q) noexcept {
  return blocks_of(q.length, q.sink_block);
}

}  // namespace stria::rndv
