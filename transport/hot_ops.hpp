// What the engines call of a provider in the data path, in one table: the loader copies the functions of the
// groups that the provider declares into it, once, so that a message costs one indirect call, and not a look
// for the group before it. A function of a group that the provider does not declare answers what an engine
// can go on with: it is never null.
#pragma once

#include "base/cache_line.hpp"
#include "transport/contract.hpp"

namespace stria::transport {

/// In the order of use: a short message needs the first line alone.
struct alignas(kCacheLine) HotOps {
  decltype(stria_group_pio_t::pio_send) pio_send = [](auto...) { return STRIA_ERR_UNSUPPORTED; };
  decltype(stria_group_look_t::take) take = [](auto...) { return std::int32_t{STRIA_TAKE_OTHER}; };
  decltype(stria_group_look_t::poll) poll = [](auto...) { return 0u; };
  decltype(stria_provider_t::eager_send) eager_send = [](auto...) { return STRIA_ERR_UNSUPPORTED; };
  decltype(stria_group_get_t::get) get = [](auto...) { return STRIA_ERR_UNSUPPORTED; };
  decltype(stria_group_keys_t::send_invalidate) send_invalidate = [](auto...) {
    return STRIA_ERR_UNSUPPORTED;
  };
  decltype(stria_group_keys_t::fast_register) fast_register = [](auto...) { return STRIA_ERR_UNSUPPORTED; };
  decltype(stria_group_keep_t::release) release = [](auto...) {};
  // The second line: one-sided, and what comes once a message of many packets.
  decltype(stria_group_put_t::put) put = [](auto...) { return STRIA_ERR_UNSUPPORTED; };
  decltype(stria_group_atomic_t::atomic) atomic = [](auto...) { return STRIA_ERR_UNSUPPORTED; };
  decltype(stria_group_offload_t::get_finish) get_finish = [](auto...) { return STRIA_ERR_UNSUPPORTED; };
  decltype(stria_group_bulk_t::zcopy_send) zcopy_send = [](auto...) { return STRIA_ERR_UNSUPPORTED; };
  decltype(stria_group_keys_t::invalidate) invalidate = [](auto...) { return STRIA_ERR_UNSUPPORTED; };
  /// A provider without the group keeps nothing that is still being written.
  decltype(stria_group_keep_t::kept_arrived) kept_arrived =
      [](stria_link_t*, std::uint64_t, std::uint32_t all, std::uint32_t) { return all; };
  decltype(stria_provider_t::progress) progress = [](auto...) { return 0u; };
};
static_assert(sizeof(HotOps) == 2 * kCacheLine);

/// Of a complete table (find_provider checks it).
HotOps flatten(const stria_provider_t& table) noexcept;

}  // namespace stria::transport
