// What a device opens if the user names no transport: one that no other provider of stria serves better.
//
// Most of what UCX drives is served by a provider of stria's own: shared memory by shm, plain TCP by tcp, the
// queue pairs of rdma-core by verbs. The rest are networks that only UCX drives, such as the dynamically
// connected transport of Mellanox' adapters (dc_mlx5), EFA's srd and Cray's ugni. On a host that has none of
// these the provider has no device, so it stays out of the way of the others in STRIA_PROVIDERS.
#pragma once

#include <uct/api/uct.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "transport/uct/device_list.hpp"

namespace stria::uct {

/// The provider of stria that serves better what this transport reaches; "": no other provider serves it.
/// Memory of accelerators (UCT_DEVICE_TYPE_ACC) is served by none: UCX has no active messages for it.
std::string_view better_provider(const uct_tl_resource_desc_t& resource) noexcept;

/// Returns the networks among `resources` that no other provider serves, the best one first; if `device` is
/// not empty, only those on that device. The order is that of the names up to the underscore: dc, whose needs
/// do not grow with the number of peers; rc, which also gets and puts; ud, which only sends; srd and ugni, of
/// adapters that have none of these; then names that are not known. Within one name the order is UCX's.
std::vector<Wanted> unserved(std::span<const uct_tl_resource_desc_t> resources, std::string_view device);

/// Opens the first one of unserved() that `open` opens. Error: unsupported; there is none, or none opens. The
/// text lists what UCX has, the providers that serve it, why those that were tried did not open, and how to
/// name a transport.
Result<void> open_unserved(std::span<const uct_tl_resource_desc_t> resources, std::string_view device,
                           const std::function<Result<void>(const Wanted&)>& open);

/// Lists for people which of the transports are served by which other provider, as in
/// "tcp by tcp; self, posix by shm".
std::string list_served(std::span<const uct_tl_resource_desc_t> resources);

}  // namespace stria::uct
