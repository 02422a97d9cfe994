// Bounds, spans and overlap of typemaps; see typemap.hpp.
#include "tests/mpi/datatype_random/typemap.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace mpitest {

void append(RandomType& type, const RandomType& child, std::int64_t displacement) {
  type.has_pair = type.has_pair || child.has_pair;
  for (const Item& item : child.map) type.map.push_back({item.displacement + displacement, item.basic});
}

Span span_of(const RandomType& type, std::int64_t copies) {
  if (type.map.empty() || copies == 0) return {};
  const auto basics = basic_types();
  Span one{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  for (const Item& item : type.map) {
    one.low = std::min(one.low, item.displacement);
    one.high = std::max(one.high, item.displacement + basics[item.basic].bytes);
  }
  const std::int64_t last = (copies - 1) * type.extent();
  return {one.low + std::min<std::int64_t>(0, last), one.high + std::max<std::int64_t>(0, last)};
}

bool overlaps(const RandomType& type, std::int64_t copies) {
  const auto basics = basic_types();
  std::vector<Span> runs;  // neighbours in typemap order that touch are joined first
  for (std::int64_t k = 0; k < copies; ++k) {
    for (const Item& item : type.map) {
      const std::int64_t at = item.displacement + k * type.extent();
      if (!runs.empty() && runs.back().high == at) {
        runs.back().high = at + basics[item.basic].bytes;
      } else {
        runs.push_back({at, at + basics[item.basic].bytes});
      }
    }
  }
  std::sort(runs.begin(), runs.end(), [](const Span& a, const Span& b) { return a.low < b.low; });
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].low < runs[i - 1].high) return true;
  }
  return false;
}

void set_bounds(RandomType& type, std::int64_t lower, std::int64_t upper) {
  type.marked = true;
  type.lower = lower;
  type.upper = upper;
  MPI_Aint mpi_lower = 0;
  MPI_Aint mpi_extent = 0;
  MPI_Type_get_extent(type.handle, &mpi_lower, &mpi_extent);
  expect(mpi_lower == lower && mpi_extent == upper - lower,
         text("MPI says lower bound ", mpi_lower, " extent ", mpi_extent, ", the standard ", lower, " and ",
              upper - lower, " for ", type.text));
}

void take_bounds(RandomType& type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(type.handle, &lower, &extent);
  type.lower = lower;
  type.upper = lower + extent;
  const Span data = span_of(type, 1);
  if (!type.map.empty()) {
    expect(lower <= data.low && lower + extent >= data.high,
           text("bounds [", lower, ",", lower + extent, ") do not cover the data [", data.low, ",", data.high,
                ") of ", type.text));
  }
}

void combine_bounds(RandomType& type, std::span<const RandomType> children, std::span<const int> lengths,
                    std::span<const MPI_Aint> places) {
  std::int64_t lower = std::numeric_limits<std::int64_t>::max();
  std::int64_t upper = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < children.size(); ++i) {
    const RandomType& child = children[i];
    if (!child.marked || lengths[i] == 0) continue;
    const std::int64_t last = (lengths[i] - 1) * child.extent();
    lower = std::min(lower, places[i] + child.lower + std::min<std::int64_t>(0, last));
    upper = std::max(upper, places[i] + child.upper + std::max<std::int64_t>(0, last));
  }
  if (lower <= upper) {
    set_bounds(type, lower, upper);
  } else {
    take_bounds(type);
  }
}

}  // namespace mpitest
