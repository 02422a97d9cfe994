#include "tag/eager_or_announced.hpp"

#include <algorithm>

#include "eager/send.hpp"

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
  const bool looks = settings.overlaps_packing && !starts_fast(memory);
  if (looks && is_announced(link, memory, mappable))
    return {Way::announced, is_announced(link, memory, false) ? "packed by one side while the other unpacks"
                                                              : "the receiver can map the memory"};
  const bool contiguous = memory.layout == nullptr;
  if (eager::fits_window(link, contiguous, bytes))
    return {Way::window, contiguous ? "fits the PIO window" : "fits the PIO window, gathered on the stack"};
  if (bytes > link.eager_max) return {Way::announced, "fits no buffer"};
  const bool packs_long = looks && rndv::packs_long(bytes, transport::mean_block(memory));
  return {Way::buffer, packs_long               ? link.grows ? "packed while the receiver unpacks"
                                                             : "a way there and back takes longer than packing"
                       : bytes < link.pio_below ? "strided: packed straight into provider memory"
                                                : "longer than the window takes, within the eager limit"};
}

}  // namespace stria::tag
