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
  none,     ///< packets have the bytes, or there are none
  senders,  ///< the receiver reads all of them
  both,     ///< the receiver reads a part, and the sender writes the other
};

/// What the sender, and the functions that predict, know of a protocol.
struct Protocol {
  Scheme scheme;
  std::string_view name;
  Keys keys;
  std::uint8_t forced_by;  ///< values of Force that want it, a bit each (bits_of)
  bool (*applies)(const Question& question) noexcept;
  double (*cost_us)(const Question& question) noexcept;
  /// Why it is taken where it costs least, for people; constant text.
  const char* (*reason)(const Question& question) noexcept;
};

/// A protocol with what its receiver does, by two functions of Receive. They are generic, so that no file of
/// a protocol depends on the engine; the list has their type, so they are called directly.
///   static void plan(ReceivePlan&, const Question&, const LinkRef&, const Options&)
///       Says how the receive goes on. Before, the plan is to read from the beginning.
///   static bool begin(const Beginning&, RecvOp&, const ReceivePlan&)
///       Begins the receive, and may end it. False: it cannot, and nothing changed; the receive is planned
///       again, of memory that the sender does not map.
/// (They are no lambdas: GCC 12 does not look into constants whose type has one, and all functions of the
/// protocol would be called by pointers.)
template <class Receive>
struct ReceivedBy : Protocol {
  static constexpr Receive receive{};
};

/// The plan of what reads from the beginning.
struct ReadsFromBeginning {
  static void plan(auto& /*plan*/, const Question& /*question*/, const auto& /*link*/,
                   const auto& /*options*/) noexcept {}
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
