// Mapped by both: each side has the other's memory mapped. The receiver loads one part of the message and the
// sender stores the other, so two cores copy each byte once (rndv/mapped_both.cpp).
#pragma once

#include "rndv/protocols/mapped.hpp"

namespace stria::rndv {

struct ReceivesMappedBoth {
  static void plan(auto& plan, const MessageFacts& facts, const auto& /*link*/,
                   const auto& /*options*/) noexcept {
    plan.fragment_bytes = piece_of(facts);
    plan.helps = true;
  }
  static bool begin(const auto& starter, auto& op, const auto& plan) noexcept {
    if (!starter.offer_key(op)) return false;
    op.helps = plan.helps;
    op.needs_fin = true;
    ++starter.owner.counters.mapped_both;
    starter.send_rtr(op);
    return true;
  }
};

inline constexpr ReceivedBy<ReceivesMappedBoth> kMappedBoth{{
    .name = "mapped by both",
    .keys = Keys::both,
    .forced_by = bits_of({Force::both}),
    .applies =
        [](const MessageFacts& facts) noexcept {
          // Beside messages the other way, a part that the sender copies is one that it does not copy of
          // those.
          return facts.mapped && facts.sink_mapped && facts.can_copy_by_both && !facts.self &&
                 (!facts.busy || facts.force == Force::both) &&
                 piece_of(facts) <= facts.length / 2;  // the sender's part is a piece or more
        },
    .cost_us =
        [](const MessageFacts& facts) noexcept {
          const Parameters& p = parameters();
          return p.mapped_both_start_us + (facts.far ? p.mapped_both_far_us : 0) +
                 (loads_us(facts) - p.mapped_start_us) / 2;
        },
    .reason =
        [](const MessageFacts&) noexcept {
          return "the memory of both is mapped: each side copies a part of it, once";
        },
}};

}  // namespace stria::rndv
