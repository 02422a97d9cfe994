// Ways: how a message of a device in use would go, and why. The plans are the engine's own
// (tag/eager_or_announced.hpp, rndv/plan.hpp), asked with the limits that a link of the device has.
#pragma once

#include <cstdint>
#include <string>

#include "rndv/plan.hpp"
#include "rndv/protocols/list.hpp"
#include "tag/eager_or_announced.hpp"
#include "tools/stria_info/section.hpp"

namespace stria::info {

/// A link between two processes, as the device's capabilities promise it, between near caches.
transport::LinkRef link_of(const Device& device);

/// The first `bytes` bytes of instances of the layout, at no address.
stria_payload_t memory_of(const datatype::Layout& layout, std::uint64_t bytes);

/// What both sides know of a message before it is sent.
struct Sides {
  stria_payload_t source{}, sink{};
  bool source_mapped = false, sink_mapped = false;  ///< the memory is of stria_mem_alloc()
};

/// How the message goes while the receiver's credit lasts, and windows and buffers have room.
struct Forecast {
  tag::StartPlan start = {};
  rndv::ReceivePlan receive = {};  ///< of a message that is announced
  const char* reason = "";         ///< for people; constant text

  bool is_announced() const { return start.way == tag::Way::announced; }
  // Only of a message that is announced:
  const rndv::Protocol& protocol() const { return *receive.choice.protocol; }
  double us() const { return receive.choice.us_of(protocol()); }
};
Forecast forecast(const transport::LinkRef& link, const Sides& sides, const tag::Settings& settings);

}  // namespace stria::info
