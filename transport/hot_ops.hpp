// HotOps: the functions of a provider that engines call in the data path, in one table. The loader fills the
// table once, from the core and the groups that the provider declares, so that a message costs one indirect
// call and no search for the group. No function is null: in place of a function that the provider does not
// declare there is one whose answer an engine can go on with.
#pragma once

#include "base/cache_line.hpp"
#include "transport/contract.hpp"

namespace stria::transport {

/// Ordered by use: a short message needs only the first cache line.
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
  // The second cache line: one-sided operations, and calls made once for a message of many packets.
  decltype(stria_group_put_t::put) put = [](auto...) { return STRIA_ERR_UNSUPPORTED; };
  decltype(stria_group_atomic_t::atomic) atomic = [](auto...) { return STRIA_ERR_UNSUPPORTED; };
  decltype(stria_group_offload_t::get_finish) get_finish = [](auto...) { return STRIA_ERR_UNSUPPORTED; };
  decltype(stria_group_bulk_t::zcopy_send) zcopy_send = [](auto...) { return STRIA_ERR_UNSUPPORTED; };
  decltype(stria_group_keys_t::invalidate) invalidate = [](auto...) { return STRIA_ERR_UNSUPPORTED; };
  /// Without the group keep, no packet is kept while it is still being written: all of it is there.
  decltype(stria_group_keep_t::kept_arrived) kept_arrived =
      [](stria_link_t*, std::uint64_t, std::uint32_t all, std::uint32_t) { return all; };
  decltype(stria_provider_t::progress) progress = [](auto...) { return 0u; };
};
static_assert(sizeof(HotOps) == 2 * kCacheLine);

/// Makes the HotOps of a provider's table, which must be complete (check_provider() checks that).
HotOps flatten(const stria_provider_t& table) noexcept;

}  // namespace stria::transport
