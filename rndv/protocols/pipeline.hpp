// Pipeline: the sender packs fragments while the receiver unpacks earlier ones, so both cores copy at the
// same time (rndv/streamer.hpp). It needs nothing but packets, so it applies to every message on every path.
#pragma once

#include "rndv/protocols/get.hpp"

namespace stria::rndv {

/// The time that packing and unpacking take beside the bytes. They overlap, so the side that takes longer
/// counts; or both sides count, where each core has the other half of a message the other way to do too.
inline double packing_us(const MessageFacts& facts) noexcept {
  const Parameters& p = parameters(path_of(facts));
  const double source = source_blocks(facts), sink = sink_blocks(facts);
  const double lines = std::max(facts.source_sparse ? source : 0.0, facts.sink_sparse ? sink : 0.0);
  const double blocks = facts.busy ? source + sink : std::max(source, sink);
  return blocks * p.pipeline_us_per_block + lines * p.pipeline_us_per_line;
}

/// The time that the start of a pipeline and its bytes take, without packing and unpacking.
inline double streaming_us(const MessageFacts& facts) noexcept {
  const Parameters& p = parameters(path_of(facts));
  const double kib = kib_of(facts);
  if (facts.far && facts.flows) return p.pipeline_start_us + p.flow_start_us + kib * p.flow_us_per_kib;
  if (facts.far)
    return p.pipeline_start_us + p.far_start_us +
           kib * (facts.busy ? p.far_busy_us_per_kib : p.far_us_per_kib);
  if (facts.busy)
    return p.pipeline_start_us + kib * p.busy_us_per_kib +
           std::max(0.0, kib - kCacheKib) * p.busy_us_per_kib_beyond;
  return p.pipeline_start_us + kib * p.pipeline_us_per_kib;
}

struct ReceivesFragments {
  static void plan(auto& plan, const MessageFacts& facts, const auto& link, const auto& options) noexcept {
    plan.fragment_bytes = options.fragment_fixed ? options.fragment_bytes
                                                 : fragment_on_link(facts, options.fragment_bytes,
                                                                    link.eager_max, link.zcopy_max());
    plan.helps = can_help(facts, plan.choice);
  }
  static bool begin(const auto& starter, auto& op, const auto& plan) noexcept {
    ++starter.owner.counters.pipeline;
    const bool by_rails = op.link->railed && starter.requests.divide(op);
    if (by_rails) [[unlikely]]
      return true;
    op.helps = plan.helps;
    starter.send_rtr(op);
    return true;
  }
};

inline constexpr ReceivedBy<ReceivesFragments> kPipeline{{
    .name = "pipeline",
    .keys = Keys::none,
    .forced_by = bits_of({Force::pipeline}),
    .applies = [](const MessageFacts& facts) noexcept { return facts.length != 0; },
    .cost_us = [](const MessageFacts& facts) noexcept { return streaming_us(facts) + packing_us(facts); },
    .reason =
        [](const MessageFacts& facts) noexcept {
          if (!facts.can_get && !facts.mapped) return "the link has no get for this memory";
          if (facts.mapped) return "two cores wait for the lines of both sides, not one";
          if (facts.offload) return "blocks too small for one work request each";
          return entries_us(facts) > kib_of(facts) * parameters(path_of(facts)).get_us_per_kib
                     ? "blocks too small for one list entry each"
                     : "two overlapped copies cost less than one through the kernel";
        },
}};

}  // namespace stria::rndv
