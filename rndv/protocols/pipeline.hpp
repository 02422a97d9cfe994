// Pipeline: the sender packs fragments while the receiver unpacks earlier ones, so both cores copy at the
// same time (rndv/streamer.hpp). It needs nothing but packets, so it applies to every message on every path.
#pragma once

#include "rndv/protocols/get.hpp"

namespace stria::rndv {

/// What packing and unpacking take beside the bytes. They overlap, so the side that takes longer counts; or
/// both sides count, where each core has the other half of a message the other way to do too.
inline double packing_us(const Question& q) noexcept {
  const Parameters& p = parameters(path_of(q));
  const double source = source_blocks(q), sink = sink_blocks(q);
  const double lines = std::max(q.source_sparse ? source : 0.0, q.sink_sparse ? sink : 0.0);
  const double blocks = q.busy ? source + sink : std::max(source, sink);
  return blocks * p.pipeline_us_per_block + lines * p.pipeline_us_per_line;
}

/// What the bytes of a pipeline take, and its start.
inline double streaming_us(const Question& q) noexcept {
  const Parameters& p = parameters(path_of(q));
  const double kib = kib_of(q);
  if (q.far && q.flows) return p.pipeline_start_us + p.flow_start_us + kib * p.flow_us_per_kib;
  if (q.far)
    return p.pipeline_start_us + p.far_start_us + kib * (q.busy ? p.far_busy_us_per_kib : p.far_us_per_kib);
  if (q.busy)
    return p.pipeline_start_us + kib * p.busy_us_per_kib +
           std::max(0.0, kib - kCacheKib) * p.busy_us_per_kib_beyond;
  return p.pipeline_start_us + kib * p.pipeline_us_per_kib;
}

struct ReceivesFragments {
  static void plan(auto& plan, const Question& q, const auto& link, const auto& options) noexcept {
    plan.fragment_bytes = options.fragment_fixed
                              ? options.fragment_bytes
                              : fragment_on_link(q, options.fragment_bytes, link.eager_max, link.zcopy_max());
    plan.helps = can_help(q, plan.answer);
  }
  static bool begin(const auto& receiver, auto& op, const auto& plan) noexcept {
    ++receiver.owner.counters.pipeline;
    const bool by_rails = op.link->railed && receiver.requests.divide(op);
    if (by_rails) [[unlikely]]
      return true;
    op.helps = plan.helps;
    receiver.ask(op);
    return true;
  }
};

inline constexpr ReceivedBy<ReceivesFragments> kPipeline{{
    .scheme = Scheme::pipeline,
    .name = "pipeline",
    .keys = Keys::none,
    .forced_by = bits_of({Force::pipeline}),
    .applies = [](const Question& q) noexcept { return q.length != 0; },
    .cost_us = [](const Question& q) noexcept { return streaming_us(q) + packing_us(q); },
    .reason =
        [](const Question& q) noexcept {
          if (!q.can_get && !q.mapped) return "the link has no get for this memory";
          if (q.mapped) return "two cores wait for the lines of both sides, not one";
          if (q.offload) return "blocks too small for one work request each";
          return entries_us(q) > kib_of(q) * parameters(path_of(q)).get_us_per_kib
                     ? "blocks too small for one list entry each"
                     : "two overlapped copies cost less than one through the kernel";
        },
}};

}  // namespace stria::rndv
