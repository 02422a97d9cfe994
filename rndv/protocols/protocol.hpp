// Protocol: a way to move the bytes of an announced message, as a constant value. Each protocol has a file of
// its own, which says when it applies, what it costs, how its receive is planned, and how the receiver
// begins; list.hpp has all of them. choose() (cost_model.hpp), plan_receive() (plan.hpp) and Acceptor go over
// that list, so a new protocol is a file and an entry of the list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "rndv/cost_model.hpp"

namespace stria::rndv {

/// The keys that a protocol moves bytes by.
enum class Keys : std::uint8_t {
  none,     ///< no key: packets have the bytes, or there are no bytes
  senders,  ///< the sender's: the receiver reads all bytes
  both,     ///< the sender's and the receiver's: the receiver reads a part, and the sender writes the other
};

/// What the sender, and the functions that predict, know of a protocol.
struct Protocol {
  std::string_view name;
  Keys keys;
  std::uint8_t forced_by;  ///< values of Force that want it, a bit each (bits_of)
  bool (*applies)(const MessageFacts& facts) noexcept;
  double (*cost_us)(const MessageFacts& facts) noexcept;
  /// Why it is taken where it costs least, for people; constant text.
  const char* (*reason)(const MessageFacts& facts) noexcept;
};

/// A protocol with what its receiver does, by two functions of Receive. They are generic, so that no file of
/// a protocol depends on the engine; the list has their type, so they are called directly.
///   static void plan(ReceivePlan&, const MessageFacts&, const LinkRef&, const Options&)
///       Says how the receive goes on. Before, the plan is to read from the beginning.
///   static bool begin(const ReceiveStarter&, RecvOp&, const ReceivePlan&)
///       Begins the receive, and may end it. False: it cannot, and nothing changed; the receive is planned
///       again, of memory that the sender does not map.
/// (They are no lambdas: GCC 12 does not look into constants whose type has one, and all functions of the
/// protocol would be called by pointers.)
template <class Receive>
struct ReceivedBy : Protocol {
  static constexpr Receive receive{};
};

/// The base of protocols whose receivers read from the beginning: their plan needs nothing more.
struct ReadsFromBeginning {
  static void plan(auto& /*plan*/, const MessageFacts& /*facts*/, const auto& /*link*/,
                   const auto& /*options*/) noexcept {}
};

/// A set of values of Force: a bit for each.
constexpr std::uint8_t bits_of(std::initializer_list<Force> forces) noexcept {
  unsigned bits = 0;
  for (const Force force : forces) bits |= 1u << static_cast<unsigned>(force);
  return static_cast<std::uint8_t>(bits);
}

// What several protocols' costs are made of.

inline constexpr double kCacheKib = 2048;  // longer messages outgrow the caches

/// The message's length in KiB.
inline double kib_of(const MessageFacts& facts) noexcept {
  return static_cast<double>(facts.length) / 1024.0;
}
/// How many blocks a message has at a side whose mean block is `block`.
inline double blocks_of(std::uint64_t length, std::uint32_t block) noexcept {
  if (block == 0) return 1.0;
  return std::max(1.0, static_cast<double>(length) / block);
}
inline double source_blocks(const MessageFacts& facts) noexcept {
  return blocks_of(facts.length, facts.source_block);
}
inline double sink_blocks(const MessageFacts& facts) noexcept {
  return blocks_of(facts.length, facts.sink_block);
}

}  // namespace stria::rndv
