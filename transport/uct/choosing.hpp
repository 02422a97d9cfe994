// Which of UCX's transports and devices a provider's device opens.
#pragma once

#include <uct/api/uct.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stria::uct {

/// The transport that is used when the user names none: one that no other provider of stria serves better.
inline constexpr std::string_view kDefaultTransport = "tcp";

/// The index of the resource to open, of what a memory domain has; -1: it has none that fits. `device` empty:
/// any, rather not a loopback device, which reaches no other host.
int choose_resource(std::span<const uct_tl_resource_desc_t> resources, std::string_view transport,
                    std::string_view device) noexcept;

/// For people: the transports and devices of these resources, "tcp/eth0 tcp/lo".
void list_resources(std::span<const uct_tl_resource_desc_t> resources, std::string& out);

}  // namespace stria::uct
