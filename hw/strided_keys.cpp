#include "hw/strided_keys.hpp"

#include <limits>
#include <string>
#include <utility>

namespace stria::hw {
namespace {

// The widths of the adapter's descriptor; the library's structures are wider and cut without a word.
constexpr InterleavedLimits kInterleaved{
    .entries = 0, .repeat_bits = 32, .stride_bits = 16, .bytes_bits = 16};
constexpr std::uint32_t kMostEntries = std::numeric_limits<std::uint16_t>::max();

template <class Build>
int post(ibv_qp_ex& queue_pair, std::uint64_t request_id, Build build) noexcept {
  ::ibv_wr_start(&queue_pair);
  queue_pair.wr_id = request_id;
  queue_pair.wr_flags = IBV_SEND_INLINE;
  build();
  return ::ibv_wr_complete(&queue_pair);
}

}  // namespace

Result<InterleavedKey> encode_interleaved_key(const datatype::Layout& layout, std::int64_t count,
                                              std::uint64_t base, std::uint32_t lkey, std::uint32_t entries) {
  InterleavedLimits limits = kInterleaved;
  limits.entries = entries < kMostEntries ? entries : kMostEntries;
  auto form = encode_interleaved(layout, count, base, limits);
  if (!form) return std::move(form).error();
  InterleavedKey out;
  out.repeat = static_cast<std::uint32_t>(form->repeat);
  for (const InterleavedEntry& entry : form->entries) {
    if (form->repeat > 1 && entry.stride < entry.bytes)
      return Error{Status::unsupported, "interleaved: stride " + std::to_string(entry.stride) + " < " +
                                            std::to_string(entry.bytes) + " bytes of an entry"};
    const std::uint64_t skip = form->repeat > 1 ? entry.stride - entry.bytes : 0;
    out.entries.push_back(
        {entry.address, static_cast<std::uint32_t>(entry.bytes), static_cast<std::uint32_t>(skip), lkey});
  }
  return out;
}

Result<std::vector<ibv_sge>> encode_list_key(const datatype::Layout& layout, std::int64_t count,
                                             std::uint64_t base, std::uint32_t lkey, std::uint32_t entries) {
  auto list = encode_sg(layout, count, base,
                        {.entries = entries < kMostEntries ? entries : kMostEntries, .bytes_bits = 32});
  if (!list) return std::move(list).error();
  if (list->empty()) return Error{Status::unsupported, "SG: no bytes"};
  std::vector<ibv_sge> out;
  out.reserve(list->size());
  for (const SgEntry& entry : *list)
    out.push_back({entry.address, static_cast<std::uint32_t>(entry.bytes), lkey});
  return out;
}

mlx5dv_mkey_init_attr strided_key_attributes(ibv_pd* pd, std::uint16_t entries) noexcept {
  mlx5dv_mkey_init_attr out{};
  out.pd = pd;
  out.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | MLX5DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE;
  out.max_entries = entries;
  return out;
}

int post_strided_key(ibv_qp_ex& queue_pair, mlx5dv_qp_ex& extension, mlx5dv_mkey& key, unsigned access,
                     InterleavedKey& description, std::uint64_t request_id) noexcept {
  return post(queue_pair, request_id, [&] {
    ::mlx5dv_wr_mr_interleaved(&extension, &key, access | IBV_ACCESS_ZERO_BASED, description.repeat,
                               static_cast<std::uint16_t>(description.entries.size()),
                               description.entries.data());
  });
}

int post_strided_key(ibv_qp_ex& queue_pair, mlx5dv_qp_ex& extension, mlx5dv_mkey& key, unsigned access,
                     std::vector<ibv_sge>& description, std::uint64_t request_id) noexcept {
  return post(queue_pair, request_id, [&] {
    ::mlx5dv_wr_mr_list(&extension, &key, access | IBV_ACCESS_ZERO_BASED,
                        static_cast<std::uint16_t>(description.size()), description.data());
  });
}

}  // namespace stria::hw
