// Encodes a layout as adapters take descriptions of memory that is not contiguous. There are three forms,
// each with the widths of its fields stated. A value that does not fit is refused by name and number, never
// cut, and the planner takes another way.
//
//   interleaved  one repeat count; per entry (address, bytes, stride)
//                | e0 e1 | e0 e1 | e0 e1 |      round i takes each entry once, i strides further on: a column
//                                               has one entry, an array of structs one for each run
//   SG           a list of (address, bytes), O(runs)
//   block list   addresses of blocks of one size, a power of two, each aligned to that size; the data may
//                start inside the first block and end inside the last one
//
// With a `base` of 0, addresses are relative to the base of the registration (zero-based). Setup cost: the
// encoders allocate. Nothing here talks to a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "datatype/layout.hpp"

namespace stria::hw {

/// Limits of a device for each form: widths of fields in bits, 1 to 64, and the most entries. 0 entries: the
/// device has no such form.
struct InterleavedLimits {
  std::uint32_t entries = 0;
  unsigned repeat_bits = 32;
  unsigned stride_bits = 16;
  unsigned bytes_bits = 16;
};
struct SgLimits {
  std::uint32_t entries = 0;
  unsigned bytes_bits = 32;
};
struct BlockListLimits {
  std::uint32_t entries = 0;
  unsigned smallest_log2 = 12;  ///< of a block's bytes; pages by default
  unsigned largest_log2 = 30;
};

struct InterleavedEntry {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t stride;
};
struct Interleaved {
  std::uint64_t repeat = 0;
  std::vector<InterleavedEntry> entries;
};
struct SgEntry {
  std::uint64_t address;
  std::uint64_t bytes;
};
struct BlockList {
  unsigned block_log2 = 0;
  std::uint64_t first_offset = 0;  ///< of the first byte of data in the first block
  std::uint64_t bytes = 0;         ///< length of the data
  std::vector<std::uint64_t> blocks;
};

/// Encodes `count` >= 1 instances of `layout` at `base`, for which Layout::reach() was found to fit, in one
/// of the forms. The form gives the bytes in typemap order. Errors: unsupported, the shape is not of this
/// form, or a field is too narrow; the context names the value and the limit.
Result<Interleaved> encode_interleaved(const datatype::Layout& layout, std::int64_t count, std::uint64_t base,
                                       const InterleavedLimits& limits);
Result<std::vector<SgEntry>> encode_sg(const datatype::Layout& layout, std::int64_t count, std::uint64_t base,
                                       const SgLimits& limits);
Result<BlockList> encode_block_list(const datatype::Layout& layout, std::int64_t count, std::uint64_t base,
                                    const BlockListLimits& limits);

/// Sizes, in bytes, of the parts of a form as mlx5 has it in a work request or in memory: addresses have 64
/// bits, and keys of 32 bits lie beside them. Interleaved entries follow a head with the repeat count; first
/// offset and length of a block list are in the key itself.
inline constexpr std::size_t kInterleavedHeadBytes = 16, kInterleavedEntryBytes = 16, kSgEntryBytes = 16,
                             kBlockEntryBytes = 8;
inline std::size_t descriptor_bytes(const Interleaved& form) noexcept {
  return kInterleavedHeadBytes + form.entries.size() * kInterleavedEntryBytes;
}
inline std::size_t descriptor_bytes(const std::vector<SgEntry>& form) noexcept {
  return form.size() * kSgEntryBytes;
}
inline std::size_t descriptor_bytes(const BlockList& form) noexcept {
  return form.blocks.size() * kBlockEntryBytes;
}

/// For people: for each form a line that says with how many entries and bytes the form describes one
/// instance, or why it does not. The widths are the defaults of the limits above; `entries` is the most
/// entries.
std::string describe_forms(const datatype::Layout& layout, std::uint32_t entries = 1 << 20);

}  // namespace stria::hw
