// Strided keys of mlx5 adapters: a layout behind one key, made by a work request (UMR), so that a peer's read
// sees the memory as contiguous. This file has the encoder, with checked widths, and the call that makes a
// work request of what was encoded.
//
//   interleaved  repeat 32 bits; per entry address, bytes, skip; the adapter keeps bytes and bytes + skip in
//                16 bits each. One repeat count for all entries: deeper nesting is refused.
//   list         address, bytes in 32 bits each
//
// A strided key is zero-based without being asked to be: remote offset 0 is the first byte in typemap order.
// The library refuses IBV_ACCESS_ZERO_BASED beside the rights.
//
// None of this has run on an adapter yet: it is tested to the last byte of the work request, which is
// recorded in place of an adapter.
#pragma once

#include <infiniband/mlx5dv.h>

#include <array>
#include <cstdint>

#include "datatype/layout.hpp"
#include "hw/descriptor_encoders.hpp"
#include "hw/verbs_capabilities.hpp"

namespace stria::hw {

/// Most entries of a key: those of a work request of 256 inline bytes. With more, each work request in the
/// queue would be longer.
inline constexpr std::uint32_t kPatternEntries = 16;

/// What one key shows. It is made for one message, and allocates nothing.
struct KeyPattern {
  std::uint32_t repeat = 0;  ///< rounds of `interleaved`; 0: `list` is used
  std::uint16_t count = 0;   ///< entries of `interleaved` or `list`
  std::uint64_t bytes = 0;   ///< bytes that a reader sees
  std::uint64_t begin = 0;   ///< lowest address of the memory behind the key
  std::uint64_t end = 0;     ///< address behind the highest byte of the memory
  std::array<mlx5dv_mr_interleaved, kPatternEntries> interleaved;
  std::array<ibv_sge, kPatternEntries> list;

  void set_lkey(std::uint32_t lkey) noexcept;
};

/// Describes `count` instances of `layout` at `base`: in the interleaved form where the layout repeats, else
/// as a list. False: neither form takes it, because it has too many runs, or a field is too narrow. The
/// caller sets the lkey later, when the region is known.
bool fill_pattern(const datatype::Layout& layout, std::int64_t count, std::uint64_t base,
                  const StridedKeys& limits, KeyPattern& out) noexcept;

/// The limits of a strided key on a queue pair with so many inline bytes: entries are inline, 16 bytes each,
/// and the interleaved form spends one on the repeat count. 0 entries: not even two fit.
StridedKeys strided_keys_of(std::uint32_t inline_bytes) noexcept;

/// How a key of a pool is made: work requests fill it, a peer's message ends it, and its consumer key (the
/// library's tag) changes from use to use. A kernel that does not allow that makes no key.
mlx5dv_mkey_init_attr strided_key_attributes(ibv_pd* pd, std::uint16_t entries) noexcept;

/// Advances the consumer key, the low 8 bits of rkey and lkey, which the next work request hands to the
/// adapter.
void advance_consumer_key(mlx5dv_mkey& key) noexcept;

/// Adds the work request that makes `key` show `pattern`, between ibv_wr_start and ibv_wr_complete. The
/// caller has set id and flags, and among the flags IBV_SEND_INLINE, as the library demands. access:
/// IBV_ACCESS_*.
void build_strided_key(mlx5dv_qp_ex* extension, mlx5dv_mkey& key, unsigned access,
                       KeyPattern& pattern) noexcept;

}  // namespace stria::hw
