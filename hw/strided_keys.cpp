#include "hw/strided_keys.hpp"

#include <sys/uio.h>

#include <algorithm>

#include "datatype/pack.hpp"
#include "datatype/walk.hpp"

namespace stria::hw {
namespace {

// The widths of the adapter's descriptor. The library's structures have wider fields, which the library cuts
// without a word.
constexpr InterleavedLimits kInterleaved{
    .entries = 0, .repeat_bits = 32, .stride_bits = 16, .bytes_bits = 16};

bool fits(std::uint64_t value, unsigned bits) noexcept {
  return bits >= 64 || value >> bits == 0;
}

/// `count` instances of `layout` at `base`.
struct Instances {
  const datatype::Layout& layout;
  std::int64_t count;
  std::uint64_t base;
};

/// Writes to `runs` the runs of the first `bytes` bytes of the packed stream. Returns their number; 0: they
/// are more than `most`.
std::size_t runs_of(const Instances& instances, std::int64_t bytes, std::uint32_t most,
                    std::array<iovec, kPatternEntries>& runs) noexcept {
  std::int64_t covered = 0;
  auto* const memory = datatype::at(static_cast<datatype::Address>(instances.base));  // nothing is read there
  const std::size_t n = datatype::iovecs({&instances.layout, memory, instances.count, 0, bytes}, runs.data(),
                                         std::min(most, kPatternEntries), &covered);
  return covered == bytes ? n : 0;
}

/// Widens the range [out.begin, out.end) to cover [begin, end). The first range of a pattern is taken as it
/// is.
void cover(KeyPattern& out, std::uint64_t begin, std::uint64_t end) noexcept {
  out.begin = out.count == 0 ? begin : std::min(out.begin, begin);
  out.end = out.count == 0 ? end : std::max(out.end, end);
}

/// Fills the pattern in the interleaved form. False: the layout does not repeat, or does not fit `limits`.
bool fill_interleaved(const Instances& instances, const InterleavedLimits& limits, KeyPattern& out) noexcept {
  if (limits.entries == 0) return false;
  const datatype::Repeat repeat = datatype::repeat_of(instances.layout, instances.count);
  const auto rounds = static_cast<std::uint64_t>(repeat.count);
  const auto stride = static_cast<std::uint64_t>(repeat.stride);  // a negative stride is too wide
  if (rounds <= 1 || !fits(rounds, limits.repeat_bits) || !fits(stride, limits.stride_bits)) return false;
  std::array<iovec, kPatternEntries> runs;
  const std::size_t n = runs_of(instances, repeat.child->size, limits.entries, runs);
  if (n == 0) return false;
  out.count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto address = reinterpret_cast<std::uint64_t>(runs[i].iov_base);
    const std::uint64_t bytes = runs[i].iov_len;
    if (!fits(bytes, limits.bytes_bits) || bytes > stride) return false;
    out.interleaved[i] = {address, static_cast<std::uint32_t>(bytes),
                          static_cast<std::uint32_t>(stride - bytes), 0};
    cover(out, address, address + (rounds - 1) * stride + bytes);
    ++out.count;
  }
  out.repeat = static_cast<std::uint32_t>(rounds);
  return true;
}

/// Fills the pattern in the list form, for instances of `bytes` bytes in all. False: they do not fit
/// `limits`.
bool fill_list(const Instances& instances, std::int64_t bytes, const SgLimits& limits,
               KeyPattern& out) noexcept {
  std::array<iovec, kPatternEntries> runs;
  if (limits.entries == 0) return false;
  const std::size_t n = runs_of(instances, bytes, limits.entries, runs);
  if (n == 0) return false;
  out.count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto address = reinterpret_cast<std::uint64_t>(runs[i].iov_base);
    if (!fits(runs[i].iov_len, limits.bytes_bits)) return false;
    out.list[i] = {address, static_cast<std::uint32_t>(runs[i].iov_len), 0};
    cover(out, address, address + runs[i].iov_len);
    ++out.count;
  }
  out.repeat = 0;
  return true;
}

}  // namespace

void KeyPattern::set_lkey(std::uint32_t lkey) noexcept {
  for (std::uint16_t i = 0; i < count; ++i)
    if (repeat != 0)
      interleaved[i].lkey = lkey;
    else
      list[i].lkey = lkey;
}

bool fill_pattern(const datatype::Layout& layout, std::int64_t count, std::uint64_t base,
                  const StridedKeys& limits, KeyPattern& out) noexcept {
  std::int64_t bytes = 0;
  if (count <= 0 || layout.size() == 0 || !layout.reach(count) ||
      __builtin_mul_overflow(layout.size(), count, &bytes))
    return false;
  const Instances instances{layout, count, base};
  if (!fill_interleaved(instances, limits.interleaved, out) && !fill_list(instances, bytes, limits.list, out))
    return false;
  out.bytes = static_cast<std::uint64_t>(bytes);
  return out.begin < out.end;
}

StridedKeys strided_keys_of(std::uint32_t inline_bytes) noexcept {
  // Entries use the room of the head of inline data, too.
  constexpr std::uint32_t kEntryBytes = 16, kInlineHead = 4;
  StridedKeys out;
  const std::uint32_t entries = std::min(kPatternEntries, (inline_bytes + kInlineHead) / kEntryBytes);
  if (entries < 2) return out;
  out.entries = out.list.entries = entries;
  out.list.bytes_bits = 31;  // what entries hold for certain: the library takes no window longer than that
  out.interleaved = kInterleaved;
  out.interleaved.entries = entries - 1;
  return out;
}

mlx5dv_mkey_init_attr strided_key_attributes(ibv_pd* pd, std::uint16_t entries) noexcept {
  mlx5dv_mkey_init_attr out{};
  out.pd = pd;
  out.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | MLX5DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE |
                     MLX5DV_MKEY_INIT_ATTR_FLAGS_UPDATE_TAG;
  out.max_entries = entries;
  return out;
}

void advance_consumer_key(mlx5dv_mkey& key) noexcept {
  key.rkey = ::ibv_inc_rkey(key.rkey);
  key.lkey = ::ibv_inc_rkey(key.lkey);
}

void build_strided_key(mlx5dv_qp_ex* extension, mlx5dv_mkey& key, unsigned access,
                       KeyPattern& pattern) noexcept {
  if (pattern.repeat != 0)
    ::mlx5dv_wr_mr_interleaved(extension, &key, access, pattern.repeat, pattern.count,
                               pattern.interleaved.data());
  else
    ::mlx5dv_wr_mr_list(extension, &key, access, pattern.count, pattern.list.data());
}

}  // namespace stria::hw
