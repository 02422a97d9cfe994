// Strided keys of mlx5 adapters: a layout behind one key, made by a work request (UMR), so that a peer's read
// sees it as contiguous. An encoder with checked widths, and the call that makes a work request of it.
//
//   interleaved  repeat 32 bits; per entry address, bytes, skip; the adapter keeps bytes and bytes + skip in
//                16 bits each. One repeat count for all entries: deeper nesting is refused.
//   list         address, bytes in 32 bits each
//
// Such a key is used zero-based: remote offset 0 is the first byte in typemap order. Nothing has to ask for
// it, and the library refuses IBV_ACCESS_ZERO_BASED beside the rights.
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

/// Entries of a work request of 256 inline bytes, beyond which each one in the queue would be longer.
inline constexpr std::uint32_t kPatternEntries = 16;

/// What one key shows, for the one message that it is made for: nothing is allocated.
struct KeyPattern {
  std::uint32_t repeat = 0;  ///< rounds of `interleaved`; 0: `list` counts
  std::uint16_t count = 0;   ///< entries
  std::uint64_t bytes = 0;   ///< that a reader sees
  std::uint64_t begin = 0;   ///< the memory behind it, from the lowest byte
  std::uint64_t end = 0;     ///< to the highest
  std::array<mlx5dv_mr_interleaved, kPatternEntries> interleaved;
  std::array<ibv_sge, kPatternEntries> list;

  void set_lkey(std::uint32_t lkey) noexcept;
};

/// What a key to `count` instances of the layout at `base` shows: the interleaved form where it repeats, a
/// list else. False: neither takes it, as it has too many runs, or a field is too narrow. The lkey is set
/// later, when the region is known.
bool fill_pattern(const datatype::Layout& layout, std::int64_t count, std::uint64_t base,
                  const StridedKeys& limits, KeyPattern& out) noexcept;

/// What a key of a queue pair with so many inline bytes holds: entries are inline, 16 bytes each, and the
/// interleaved form spends one on the repeat count. No entries: not even one fits.
StridedKeys strided_keys_of(std::uint32_t inline_bytes) noexcept;

/// How the key of a pool is made: filled by work requests, ended by a peer's message, and with a consumer key
/// (the library's tag) that changes from use to use; where the kernel does not let it, there is no key.
mlx5dv_mkey_init_attr strided_key_attributes(ibv_pd* pd, std::uint16_t entries) noexcept;

/// The next consumer key: the low 8 bits of both numbers, which the work request hands to the adapter.
void turn_consumer_key(mlx5dv_mkey& key) noexcept;

/// One work request of those between ibv_wr_start and ibv_wr_complete; id and flags are set, and among the
/// flags IBV_SEND_INLINE, as the library demands. access: IBV_ACCESS_*.
void build_strided_key(mlx5dv_qp_ex* extension, mlx5dv_mkey& key, unsigned access,
                       KeyPattern& pattern) noexcept;

}  // namespace stria::hw
