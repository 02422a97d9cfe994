#include "tools/stria_info/layout_arrays.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "base/fits.hpp"
#include "base/format.hpp"
#include "datatype/array.hpp"

namespace stria::info {

using datatype::ArrayOrder;
using datatype::ArrayPart;
using datatype::Layout;

namespace {

Error refuse(std::string text) {
  return {Status::invalid, std::move(text)};
}

ArrayOrder order_of(const Elements& of) {
  return of.first_is_fastest ? ArrayOrder::fortran : ArrayOrder::c;
}

/// Its error begins with the name of the constructor that was written.
Result<Layout> named(const char* constructor, Result<Layout> made) {
  if (made) return made;
  return refuse(fmt::format("{}: {}", constructor, made.error().context));
}

std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  long long value = 0;
  if (mul_overflows(a, b, &value)) return std::nullopt;
  return value;
}

/// What is wrong with a constructor's lists; empty: nothing.
std::string unlike(const char* constructor, std::size_t sizes, std::size_t others, const char* what) {
  if (sizes == 0) return fmt::format("{}: an array without dimensions", constructor);
  return sizes == others ? "" : fmt::format("{}: {} sizes, but {} {}", constructor, sizes, others, what);
}

/// What process `at` of `among` in a dimension of `size` has.
Result<ArrayPart> part_of(const Distribution& how, std::int64_t size, std::int64_t among, std::int64_t at,
                          std::size_t most) {
  if (how.kind == Distribution::none && among != 1)
    return refuse(fmt::format("darray: a dimension of {} processes that is not distributed", among));
  std::int64_t block = how.argument;
  if (how.kind == Distribution::none) block = size;
  if (block == 0) block = how.kind == Distribution::block ? (size - 1) / among + 1 : 1;
  if (how.kind == Distribution::block && block < (size - 1) / among + 1)
    return refuse(fmt::format("darray: {} processes with blocks of {} leave some of {}", among, block, size));
  ArrayPart out;
  if (at > (size - 1) / block) return out;
  const std::int64_t blocks = ((size - 1) / block - at) / among + 1;
  if (blocks > static_cast<std::int64_t>(most))
    return refuse(fmt::format("layout: a list of more than {} entries", most));
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t begin = (at + i * among) * block;
    out.begins.push_back(begin);
    out.lengths.push_back(std::min(block, size - begin));
  }
  return out;
}

}  // namespace

Result<Layout> subarray(const Sizes& sizes, const Sizes& counts, const Sizes& starts, const Elements& of) {
  if (auto what = unlike("subarray", sizes.size(), counts.size(), "sizes of the part"); !what.empty())
    return refuse(std::move(what));
  if (auto what = unlike("subarray", sizes.size(), starts.size(), "starts"); !what.empty())
    return refuse(std::move(what));
  return named("subarray", datatype::subarray(sizes, counts, starts, order_of(of), of.child));
}

Result<Layout> darray(std::int64_t processes, std::int64_t rank, const Sizes& sizes,
                      const std::vector<Distribution>& how, const Sizes& grid, const Elements& of,
                      std::size_t most) {
  if (auto what = unlike("darray", sizes.size(), how.size(), "distributions"); !what.empty())
    return refuse(std::move(what));
  if (auto what = unlike("darray", sizes.size(), grid.size(), "sizes of the grid"); !what.empty())
    return refuse(std::move(what));
  if (rank < 0 || rank >= processes) return refuse(fmt::format("darray: rank {} of {}", rank, processes));
  std::int64_t among = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 1 || grid[d] < 1)
      return refuse(fmt::format("darray: a dimension of {} on {} processes", sizes[d], grid[d]));
    const auto all = product(among, grid[d]);
    if (!all) return refuse("darray: beyond 64 bits");
    among = *all;
  }
  if (among != processes)
    return refuse(fmt::format("darray: a grid of {} for {} processes", among, processes));
  std::vector<ArrayPart> parts;
  std::int64_t below = among;  // ranks count through the last dimension of the grid first, in either order
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    below /= grid[d];
    auto part = part_of(how[d], sizes[d], grid[d], rank / below % grid[d], most);
    if (!part) return std::move(part).error();
    parts.push_back(*std::move(part));
  }
  return named("darray", datatype::array_part(sizes, parts, order_of(of), of.child));
}

}  // namespace stria::info
