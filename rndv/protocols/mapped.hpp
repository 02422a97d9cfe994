// Mapped: the receiver has the sender's memory mapped, and reads it by loads. There is no system call, and no
// page is looked up.
#pragma once

#include "rndv/protocols/protocol.hpp"

namespace stria::rndv {

/// How long loads by the receiver take. Loads have no list of blocks: a pass over both sides' blocks costs
/// what the side with more of them does. But the lines of sparse blocks are waited for at both sides, one
/// after the other.
inline double loads_us(const MessageFacts& facts) noexcept {
  const Parameters& p = parameters();
  const double source = source_blocks(facts), sink = sink_blocks(facts), blocks = std::max(source, sink);
  double us = p.mapped_start_us + kib_of(facts) * p.mapped_us_per_kib + (blocks - 1) * p.mapped_us_per_block;
  // Blocks of memory that outgrows the caches: two cores near each other would wait for it side by side.
  const double beyond = kib_of(facts) - 2 * kCacheKib;
  if (!facts.far && blocks > 1 && beyond > 0) us += beyond * p.mapped_us_per_kib_beyond;
  if (facts.source_sparse) us += source * p.mapped_us_per_source;
  if (facts.sink_sparse) us += sink * p.mapped_us_per_sink;
  return us;
}

struct ReceivesMapped : ReadsFromBeginning {
  static bool begin(const auto& starter, auto& op, const auto& /*plan*/) noexcept {
    starter.start_reading(op);
    return true;
  }
};

inline constexpr ReceivedBy<ReceivesMapped> kMapped{{
    .name = "mapped",
    .keys = Keys::senders,
    .forced_by = bits_of({Force::get, Force::both}),
    .applies = [](const MessageFacts& facts) noexcept { return facts.mapped && facts.length != 0; },
    .cost_us = loads_us,
    .reason =
        [](const MessageFacts&) noexcept {
          return "the memory is mapped: one copy by loads, no system call";
        },
}};

}  // namespace stria::rndv
