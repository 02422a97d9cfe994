// The choice of the table for this processor, and the copies of records, which call the functions of a table.
#include "datatype/kernels/kernels.hpp"

#include <algorithm>

#include "base/processor.hpp"
#include "datatype/kernels/strided.hpp"

namespace stria::datatype {
namespace {

/// The tables that processor().vectors allows, in rising order of preference.
struct Tables {
  std::array<const Kernels*, 3> list{};
  std::size_t n = 0;

  Tables() noexcept {
    list[n++] = &kernel::kPortable;
#if defined(__x86_64__)
    const Vectors vectors = processor().vectors;
    if (vectors >= Vectors::avx2) list[n++] = &kernel::kAvx2;
    if (vectors >= Vectors::avx512) list[n++] = &kernel::kAvx512;
#endif
  }
};

const Tables& tables() noexcept {
  static const Tables all;
  return all;
}

/// Copies one record, move after move: for one record or two, and where the order of writing matters.
void copy_one_by_one(const Kernels& k, const Record& record, bool packs, Address memory,
                     Address stream) noexcept {
  for (const Move& move : record.moves) {
    const Address there = moved(memory, move.memory), here = moved(stream, move.stream);
    copy_run(k, packs ? here : there, packs ? there : here, move.bytes);
  }
}

constexpr std::int64_t kFewRecords = 3;  // below, starting a loop for each move costs more than it saves

}  // namespace

const Kernels& best_kernels() noexcept {
  static const Kernels best = [] {
    Kernels table = *tables().list[tables().n - 1];
    // A virtual machine may report the caches of the whole host, so the default is the upper bound.
    if (const std::int64_t bytes = processor().last_cache_bytes; bytes > 0)
      table.nontemporal_from = std::clamp<std::int64_t>(bytes / 4, 2 << 20, table.nontemporal_from);
    return table;
  }();
  return best;
}

std::span<const Kernels* const> runnable_kernels() noexcept {
  return std::span(tables().list).first(tables().n);
}

void copy_records(const Kernels& k, Direction direction, const Record& record, Address memory,
                  std::int64_t stride, std::int64_t count, Address stream) noexcept {
  const bool packs = direction == kPacking;
  const bool any_order = packs || count <= record.disjoint_count;
  if (any_order && record.permutation.records > 0 && k.permute[direction] != nullptr) {
    k.permute[direction](record.permutation, memory, stride, count, stream);
    return;
  }
  if (count < kFewRecords || !any_order) {
    for (; count > 0; --count) {
      copy_one_by_one(k, record, packs, memory, stream);
      memory = moved(memory, stride);
      stream = moved(stream, record.bytes);
    }
    return;
  }
  const std::int64_t stretch = record.stretch;
  for (; count > 0; count -= stretch) {
    const std::int64_t n = std::min(count, stretch);
    for (const Move& move : record.moves) {
      const Address there = moved(memory, move.memory), here = moved(stream, move.stream);
      const Kernels::Strided copy = k.strided[kernel::width_of(move.bytes)];
      if (packs)
        copy(there, stride, here, record.bytes, n, move.bytes);
      else
        copy(here, record.bytes, there, stride, n, move.bytes);
    }
    memory = moved(memory, n * stride);
    stream = moved(stream, n * record.bytes);
  }
}

template <class Int>
void copy_listed_records(const Kernels& k, Direction direction, const Record& record, Address memory,
                         const Int* places, std::int64_t count, Address stream) noexcept {
  const bool packs = direction == kPacking;
  if (count < kFewRecords || (!packs && count > record.disjoint_count)) {
    for (std::int64_t i = 0; i < count; ++i) {
      copy_one_by_one(k, record, packs, moved(memory, places[i]), stream);
      stream = moved(stream, record.bytes);
    }
    return;
  }
  const std::int64_t stretch = record.stretch;
  for (; count > 0; count -= stretch) {
    const std::int64_t n = std::min(count, stretch);
    for (const Move& move : record.moves)
      k.lists<Int>().indexed[direction][kernel::width_of(move.bytes)](
          moved(memory, move.memory), places, n, moved(stream, move.stream), record.bytes, move.bytes);
    places += n;
    stream = moved(stream, n * record.bytes);
  }
}

template void copy_listed_records(const Kernels&, Direction, const Record&, Address, const std::int32_t*,
                                  std::int64_t, Address) noexcept;
template void copy_listed_records(const Kernels&, Direction, const Record&, Address, const std::int64_t*,
                                  std::int64_t, Address) noexcept;

}  // namespace stria::datatype
