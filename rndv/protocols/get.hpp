// Get: the receiver reads the sender's memory through the announced key (rndv/get.cpp). Within a host the
// kernel copies, by the receiver's core; an adapter or a network moves the bytes itself.
#pragma once

#include "rndv/protocols/mapped.hpp"

namespace stria::rndv {

/// What the entries of both sides' lists of blocks cost a get.
inline double entries_us(const Question& q) noexcept {
  const Parameters& p = parameters(path_of(q));
  return (source_blocks(q) - 1) * (q.source_gathered ? p.get_us_per_gathered : p.get_us_per_source) +
         (sink_blocks(q) - 1) * p.get_us_per_sink;
}

struct ReceivesByGet : ReadsFromBeginning {
  static bool begin(const auto& receiver, auto& op, const auto& /*plan*/) noexcept {
    const bool by_rails = op.link->railed && receiver.rail_reader.begin(op);
    if (!by_rails) [[likely]]
      receiver.read(op);
    return true;
  }
};

inline constexpr ReceivedBy<ReceivesByGet> kGet{{
    .scheme = Scheme::get,
    .name = "get",
    .keys = Keys::senders,
    .forced_by = bits_of({Force::get, Force::both}),
    .applies = [](const Question& q) noexcept { return q.can_get && !q.mapped && q.length != 0; },
    .cost_us =
        [](const Question& q) noexcept {
          if (q.self) return loads_us(q);  // its own memory
          const Parameters& p = parameters(path_of(q));
          const double kib = kib_of(q);
          return p.get_start_us + std::min(kib, kCacheKib) * p.get_us_per_kib +
                 std::max(0.0, kib - kCacheKib) * p.get_us_per_kib_beyond + entries_us(q);
        },
    .reason =
        [](const Question& q) noexcept {
          return q.offload   ? "the adapter moves it, without a copy"
                 : q.distant ? "it comes by connections of its own, straight into place"
                 : q.far     ? "past far caches one copy costs less than two overlapped ones"
                             : "one copy costs less than two overlapped ones";
        },
}};

}  // namespace stria::rndv
