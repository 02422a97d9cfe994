#include "tools/stria_info/ways.hpp"

#include <algorithm>

namespace stria::info {

using transport::LinkRef;

LinkRef link_of(const Device& device) {
  const hw::Capabilities& can = device.capabilities;
  stria_link_limits_t limits{};
  limits.pio_max = hw::has(can, STRIA_CAP_PIO) ? can.pio_max : 0;
  limits.eager_max = hw::has(can, STRIA_CAP_EAGER) ? can.eager_max : 0;
  limits.can_get = hw::has(can, STRIA_CAP_GET | STRIA_CAP_FAST_REGISTER);
  limits.can_put = hw::has(can, STRIA_CAP_PUT | STRIA_CAP_FAST_REGISTER);
  limits.can_map = hw::has(can, STRIA_CAP_MAP_MEMORY | STRIA_CAP_FAST_REGISTER);
  limits.offload = hw::has(can, STRIA_CAP_OFFLOAD);
  limits.grows = hw::has(can, STRIA_CAP_GROWING);
  limits.gathers = hw::has(can, STRIA_CAP_OFFLOAD | STRIA_CAP_COMPOSITE);
  limits.zcopy_max = device.zcopy_max;
  limits.latency_ns = device.latency_ns;
  LinkRef link;
  link.take(limits);
  return link;
}

stria_payload_t memory_of(const datatype::Layout& layout, std::uint64_t length) {
  const auto bytes = static_cast<std::int64_t>(length);
  const std::int64_t size = layout.size();
  const std::int64_t count = size == 0 ? 1 : std::max<std::int64_t>(1, (bytes - 1) / size + 1);
  if (size == 0 || layout.is_contiguous(count)) return LinkRef::contiguous_payload(nullptr, bytes);
  return {&layout, nullptr, count, 0, bytes};
}

Forecast forecast(const LinkRef& link, const Sides& sides, const tag::Settings& settings) {
  Forecast out{.start = tag::plan_start(link, sides.source, sides.source_mapped, settings)};
  out.reason = out.start.reason;
  if (!out.is_announced()) return out;
  const auto length = static_cast<std::uint64_t>(sides.source.length);
  const rndv::Blocks source = rndv::blocks_in(sides.source);
  const rndv::KeyPlan keys = rndv::plan_key(length, source, link, settings.rndv);
  rndv::Message message = rndv::message_announced(length, source, rndv::blocks_in(sides.sink), keys,
                                                  sides.source_mapped, sides.sink_mapped);
  out.receive = rndv::plan_receive(message, link, settings.rndv);
  if (!message.has_key && link.can_get) {
    // The sender makes no key where a get would lose. The times and the reason are those of what lost.
    message.has_key = true;
    const rndv::ReceivePlan with_key = rndv::plan_receive(message, link, settings.rndv);
    message.has_key = with_key.choice.protocol == &out.protocol();
    if (message.has_key) out.receive.choice = with_key.choice;
  }
  out.reason = rndv::reason_of(message, link, settings.rndv);
  return out;
}

}  // namespace stria::info
