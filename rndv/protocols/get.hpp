// Get: the receiver reads the sender's memory through the announced key (rndv/get.cpp). Within a host the
// kernel copies, by the receiver's core; an adapter or a network moves the bytes itself.
#pragma once

#include "rndv/protocols/mapped.hpp"

namespace stria::rndv {

/// The time that the entries of both sides' lists of blocks take in a get.
inline double entries_us(const MessageFacts& facts) noexcept {
  const Parameters& p = parameters(path_of(facts));
  return (source_blocks(facts) - 1) * (facts.source_gathered ? p.get_us_per_gathered : p.get_us_per_source) +
         (sink_blocks(facts) - 1) * p.get_us_per_sink;
}

struct ReceivesByGet : ReadsFromBeginning {
  static bool begin(const auto& starter, auto& op, const auto& /*plan*/) noexcept {
    const bool by_rails = op.link->railed && starter.rail_reader.begin(op);
    if (!by_rails) [[likely]]
      starter.start_reading(op);
    return true;
  }
};

inline constexpr ReceivedBy<ReceivesByGet> kGet{{
    .name = "get",
    .keys = Keys::senders,
    .forced_by = bits_of({Force::get, Force::both}),
    .applies =
        [](const MessageFacts& facts) noexcept {
          return facts.can_get && !facts.mapped && facts.length != 0;
        },
    .cost_us =
        [](const MessageFacts& facts) noexcept {
          if (facts.self) return loads_us(facts);  // its own memory
          const Parameters& p = parameters(path_of(facts));
          const double kib = kib_of(facts);
          return p.get_start_us + std::min(kib, kCacheKib) * p.get_us_per_kib +
                 std::max(0.0, kib - kCacheKib) * p.get_us_per_kib_beyond + entries_us(facts);
        },
    .reason =
        [](const MessageFacts& facts) noexcept {
          return facts.offload   ? "the adapter moves it, without a copy"
                 : facts.distant ? "it comes by connections of its own, straight into place"
                 : facts.far     ? "past far caches one copy costs less than two overlapped ones"
                                 : "one copy costs less than two overlapped ones";
        },
}};

}  // namespace stria::rndv
