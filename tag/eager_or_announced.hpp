// How a message starts on its way: through the PIO window or packed into the provider's memory, with its
// header, or as an announcement. Decided from how its memory lies, what the link can do, and the settings;
// the engine's sends and stria_info --schemes call the same functions. What a message finds on its way (the
// receiver's credit, room in windows and buffers) may have it buffered or announced all the same (Sends,
// eager::Sender).
#pragma once

#include <cstdint>

#include "eager/send.hpp"
#include "rndv/cost_model.hpp"
#include "tag/settings.hpp"
#include "transport/link_ref.hpp"
#include "transport/payload.hpp"

namespace stria::tag {

/// The longest message that goes with its header on the link, in bytes.
std::uint32_t eager_limit_of(const transport::LinkRef& link, const Settings& settings) noexcept;

inline constexpr std::uint64_t kPacksFast = 512;  ///< bytes, whatever the blocks are
inline constexpr std::uint64_t kCopiesFast = rndv::Parameters{}.mapped_long_bytes - 1;  ///< contiguous ones

/// Whether a message within the eager limit is so short that it is never announced: asking the cost model
/// would cost more than announcing could save.
inline bool starts_fast(const stria_payload_t& memory) noexcept {
  return static_cast<std::uint64_t>(memory.length) <= (memory.layout != nullptr ? kPacksFast : kCopiesFast);
}

/// Whether a message within the eager limit is announced all the same, where Settings::overlaps_packing:
/// because packing it takes so long that both sides should do it at the same time, or because the receiver
/// can map the memory. `mappable`: it may be memory of stria_mem_alloc(). Never for memory that
/// starts_fast().
inline bool is_announced(const transport::LinkRef& link, const stria_payload_t& memory,
                         bool mappable) noexcept {
  const auto bytes = static_cast<std::uint64_t>(memory.length);
  const std::uint32_t block = transport::mean_block(memory);
  const bool packs_long = rndv::packs_long(bytes, block);
  mappable = mappable && link.can_map;
  if (!packs_long && !mappable) return false;
  const bool sparse = transport::is_sparse(memory);
  if (mappable && rndv::goes_mapped(bytes, block, sparse, link.far)) return true;
  const bool at_once = link.grows || link.distant;  // unless it packs very long
  // What makes sparse blocks slow is that they are packed into pages of shared memory.
  return packs_long && (!at_once || rndv::packs_very_long(bytes, block, sparse && !link.distant));
}

using eager::Way;

/// How a message within the eager limit starts where the receiver's credit lasts, and window and buffers have
/// room. `overlaps_packing`: of Settings. `is_mappable`: a function that says whether the memory may be
/// memory of stria_mem_alloc(); it is called where the answer decides.
template <class IsMappable>
Way plan_way(const transport::LinkRef& link, const stria_payload_t& memory, bool overlaps_packing,
             IsMappable&& is_mappable) noexcept {
  if (!starts_fast(memory) && overlaps_packing && is_announced(link, memory, is_mappable()))
    return Way::announced;
  return eager::way_of(link, memory.layout == nullptr, static_cast<std::uint64_t>(memory.length));
}

struct StartPlan {
  Way way = Way::announced;
  const char* reason = "";  ///< for people; constant text
};
/// How a message of any length starts by plan_way() and the eager limit, and why.
StartPlan plan_start(const transport::LinkRef& link, const stria_payload_t& memory, bool mappable,
                     const Settings& settings) noexcept;

}  // namespace stria::tag
