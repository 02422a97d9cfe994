// What one core does by itself: columns with and without stores between the elements, copies of its own
// memory by vectors and by the string instruction, and a copy through the kernel.
#include "datatype/kernels/strided.hpp"
#include "datatype/pack.hpp"
#include "hw/machine/measure.hpp"
#include "hw/string_copy.hpp"

namespace stria::hw {
namespace {

namespace kernel = datatype::kernel;
using datatype::Address;

/// Writes a column of doubles, each in a page of its own, so that all of them compete for few places in the
/// first- and the second-level cache.
template <int kFillers>
double time_column(const Arena& arena) noexcept {
  constexpr std::int64_t kStride = 4096, kRows = Arena::kBytes / kStride;
  alignas(kCacheLine) const std::int64_t packed[kRows] = {};
  const auto from = reinterpret_cast<Address>(packed), to = reinterpret_cast<Address>(arena.at(0));
  const kernel::Fixed<8> element(8);
  const Clock::time_point begin = Clock::now();
  if constexpr (kFillers == 0)
    kernel::in_fours<true, false>(element, from, 8, to, kStride, kRows);
  else
    kernel::paced<kFillers>(element, from, 8, to, kStride, kRows);
  return ns_since(begin) / kRows;
}

void measure_columns(const Arena& arena, const Deadline& deadline, Machine& found) noexcept {
  const auto ns = medians<3>(deadline, [&](std::size_t way) {
    return way == 0 ? time_column<0>(arena) : way == 1 ? time_column<3>(arena) : time_column<10>(arena);
  });
  found.column_plain_ns = ns[0];
  found.column_few_ns = ns[1];
  found.column_many_ns = ns[2];
}

void measure_copies(const Arena& arena, const Deadline& deadline, Machine& found) noexcept {
  constexpr std::size_t kBytes = 65536;
  const auto ns = medians<2>(deadline, [&](std::size_t way) {
    std::byte *const from = arena.at(0), *const to = arena.at(kBytes);
    const Clock::time_point begin = Clock::now();
    if (way == 0)
      datatype::copy_bytes(to, from, kBytes);
    else
      string_copy(to, from, kBytes);
    return ns_since(begin);
  });
  found.own_vectors_ns = ns[0];
  found.own_strings_ns = ns[1];
}

}  // namespace

void measure_core(const Arena& arena, const Deadline& deadline, Machine& found) noexcept {
  if (found.column_plain_ns == 0) measure_columns(arena, deadline, found);
  if (found.own_vectors_ns == 0) measure_copies(arena, deadline, found);
  if (found.attach_start_us > 0) return;
  constexpr std::size_t kPage = 4096;
  const auto ns = medians<1>(
      deadline, [&](std::size_t) { return time_attach(arena.small_at(kPage), arena.small_at(0), kPage); });
  found.attach_start_us = ns[0] / 1000;
}

}  // namespace stria::hw
