#include "tag/eager_or_announced.hpp"

#include <algorithm>

namespace stria::tag {

using transport::LinkRef;

std::uint32_t eager_limit_of(const LinkRef& link, const Settings& settings) noexcept {
  const std::uint32_t pio_max = link.pio_below == 0 ? 0 : link.pio_below - 1;
  std::uint64_t limit = std::min<std::uint64_t>(settings.eager_limit, std::max(pio_max, link.eager_max));
  if (settings.overlaps_packing) {
    if (link.self && link.can_get)
      limit = std::min<std::uint64_t>(limit, rndv::kSelfEager);
    else if (link.far && !settings.rndv.flows)
      limit = std::min<std::uint64_t>(limit, rndv::kFarEager);
  }
  return static_cast<std::uint32_t>(limit);
}

StartPlan plan_start(const LinkRef& link, const stria_payload_t& memory, bool mappable,
                     const Settings& settings) noexcept {
  const auto bytes = static_cast<std::uint64_t>(memory.length);
  if (bytes > eager_limit_of(link, settings)) return {Way::announced, "longer than the eager limit"};
  const bool contiguous = memory.layout == nullptr;
  const bool compares = settings.overlaps_packing && !starts_fast(memory);
  const Way way = plan_way(link, memory, settings.overlaps_packing, [&] { return mappable; });
  const char* reason = "";
  switch (way) {
    case Way::window:
      reason = contiguous ? "fits the PIO window" : "fits the PIO window, gathered on the stack";
      break;
    case Way::buffer:
      if (compares && rndv::packs_long(bytes, transport::mean_block(memory)))
        reason = link.grows ? "packed while the receiver unpacks"
                            : "a way there and back takes longer than packing";
      else
        reason = bytes < link.pio_below ? "strided: packed straight into provider memory"
                                        : "longer than the window takes, within the eager limit";
      break;
    case Way::announced:
      if (!compares || !is_announced(link, memory, mappable))
        reason = "fits no buffer";
      else
        reason = is_announced(link, memory, false) ? "packed by one side while the other unpacks"
                                                   : "the receiver can map the memory";
      break;
  }
  return {way, reason};
}

}  // namespace stria::tag
