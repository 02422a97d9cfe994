// Finds the transport and device of UCX that the user names. Where none is named: unserved.hpp.
#pragma once

#include <uct/api/uct.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stria::uct {

/// The index of the resource to open among the `resources` of a memory domain; -1: none fits. With an empty
/// `device` any device of the transport fits; a loopback device, which reaches no other host, is chosen only
/// when there is no other.
int choose_resource(std::span<const uct_tl_resource_desc_t> resources, std::string_view transport,
                    std::string_view device) noexcept;

/// Appends the transports and devices of `resources` to a message for people, as in "tcp/eth0 tcp/lo".
void list_resources(std::span<const uct_tl_resource_desc_t> resources, std::string& out);

}  // namespace stria::uct
