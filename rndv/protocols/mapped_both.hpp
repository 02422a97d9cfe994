// Mapped by both: each side has the other's memory mapped. The receiver loads one part of the message and the
// sender stores the other, so two cores copy each byte once (rndv/share.cpp).
#pragma once

#include "rndv/protocols/mapped.hpp"

namespace stria::rndv {

struct ReceivesMappedBoth {
  static void plan(auto& plan, const Question& q, const auto& /*link*/, const auto& /*options*/) noexcept {
    plan.fragment_bytes = piece_of(q);
    plan.helps = true;
  }
  static bool begin(const auto& receiver, auto& op, const auto& plan) noexcept {
    if (!receiver.offer_key(op)) return false;
    op.helps = plan.helps;
    op.needs_fin = true;
    ++receiver.owner.counters.mapped_both;
    receiver.ask(op);
    return true;
  }
};

inline constexpr ReceivedBy<ReceivesMappedBoth> kMappedBoth{{
    .scheme = Scheme::mapped_both,
    .name = "mapped by both",
    .keys = Keys::both,
    .forced_by = bits_of({Force::both}),
    .applies =
        [](const Question& q) noexcept {
          // Beside messages the other way, a part that the sender copies is one that it does not copy of
          // those.
          return q.mapped && q.sink_mapped && q.can_share && !q.self && (!q.busy || q.force == Force::both) &&
                 piece_of(q) <= q.length / 2;  // the sender's part is a piece or more
        },
    .cost_us =
        [](const Question& q) noexcept {
          const Parameters& p = parameters();
          return p.mapped_both_start_us + (q.far ? p.mapped_both_far_us : 0) +
                 (loads_us(q) - p.mapped_start_us) / 2;
        },
    .reason =
        [](const Question&) noexcept {
          return "the memory of both is mapped: each side copies a part of it, once";
        },
}};

}  // namespace stria::rndv
