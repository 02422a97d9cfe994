// Strided keys of mlx5 adapters: a layout behind one key, made by a work request (UMR), so that a peer's read
// sees it as contiguous. Encoders with checked widths, and the one call that posts them.
//
//   interleaved  repeat 32 bits; per entry address, bytes, skip; the adapter keeps bytes and bytes + skip in
//                16 bits each. One repeat count for all entries: deeper nesting is refused.
//   list         address, bytes in 32 bits each
//
// None of this has run on an adapter yet: it is tested to the last byte of the work request, which is
// recorded in place of an adapter, and no provider states the capability.
#pragma once

#include <infiniband/mlx5dv.h>

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "hw/descriptor_encoders.hpp"

namespace stria::hw {

struct InterleavedKey {
  std::uint32_t repeat = 0;
  std::vector<mlx5dv_mr_interleaved> entries;
};

/// `count` >= 1 instances of `layout` at `base`, all inside the region behind `lkey`. errors  unsupported:
/// the shape is not of this form, or a field is too narrow; the context names the value and the limit.
Result<InterleavedKey> encode_interleaved_key(const datatype::Layout& layout, std::int64_t count,
                                              std::uint64_t base, std::uint32_t lkey, std::uint32_t entries);
Result<std::vector<ibv_sge>> encode_list_key(const datatype::Layout& layout, std::int64_t count,
                                             std::uint64_t base, std::uint32_t lkey, std::uint32_t entries);

/// How the key of a pool is made: filled by work requests, and ended by a peer's message.
mlx5dv_mkey_init_attr strided_key_attributes(ibv_pd* pd, std::uint16_t entries) noexcept;

/// One work request, inline as the library demands, with the key zero-based: remote offset 0 is the first
/// byte in typemap order. access: IBV_ACCESS_*. 0, or an errno value.
int post_strided_key(ibv_qp_ex& queue_pair, mlx5dv_qp_ex& extension, mlx5dv_mkey& key, unsigned access,
                     InterleavedKey& description, std::uint64_t request_id) noexcept;
int post_strided_key(ibv_qp_ex& queue_pair, mlx5dv_qp_ex& extension, mlx5dv_mkey& key, unsigned access,
                     std::vector<ibv_sge>& description, std::uint64_t request_id) noexcept;

}  // namespace stria::hw
