#include "datatype/array.hpp"

#include "base/fits.hpp"
#include "base/format.hpp"

namespace stria::datatype {

// Goes from the fastest dimension to the slowest. `made` is the part of the array of the dimensions done so
// far, and `extent` the length of that array in bytes: each round places copies of `made`, `extent` apart, at
// the selected indices of the next dimension.
Result<Layout> array_part(std::span<const std::int64_t> sizes, std::span<const ArrayPart> parts,
                          ArrayOrder order, const Layout& child) {
  Layout made = child;
  long long extent = child.extent();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t d = order == ArrayOrder::fortran ? i : sizes.size() - 1 - i;
    const auto beyond = [d] {
      return Error{Status::invalid,
                   fmt::format("dimension {}: the array's size in bytes exceeds 64 bits", d)};
    };
    std::vector<std::int64_t> places;
    for (const std::int64_t begin : parts[d].begins) {
      long long place = 0;
      if (mul_overflows(begin, extent, &place)) return beyond();
      places.push_back(place);
    }
    auto spaced = Layout::resized(made, 0, extent);
    if (!spaced) return std::move(spaced).error();
    auto blocks = Layout::indexed(parts[d].lengths, places, *spaced);
    if (!blocks) return std::move(blocks).error();
    made = *std::move(blocks);
    if (mul_overflows(extent, sizes[d], &extent)) return beyond();
  }
  return Layout::resized(made, 0, extent);
}

Result<Layout> subarray(std::span<const std::int64_t> sizes, std::span<const std::int64_t> subsizes,
                        std::span<const std::int64_t> starts, ArrayOrder order, const Layout& child) {
  if (sizes.empty() || sizes.size() > kMostDimensions)
    return Error{Status::invalid, fmt::format("an array of {} dimensions, the limits are 1 and {}",
                                              sizes.size(), kMostDimensions)};
  std::vector<ArrayPart> parts;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (subsizes[d] < 0 || starts[d] < 0 || sizes[d] < subsizes[d] || starts[d] > sizes[d] - subsizes[d])
      return Error{Status::invalid,
                   fmt::format("dimension {}: subsize {} from start {} on does not fit into size {}", d,
                               subsizes[d], starts[d], sizes[d])};
    parts.push_back({{subsizes[d]}, {starts[d]}});
  }
  return array_part(sizes, parts, order, child);
}

}  // namespace stria::datatype
