// The shapes that memory is given; see layout.hpp.
#include "tests/mpi/p2p_random/layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "tests/mpi/datatype_random/random_type.hpp"
#include "tests/mpi/datatype_random/typemap.hpp"

namespace p2p_random {
namespace {

using mpitest::Rng;

constexpr mpitest::BasicId kByte = 3;  // in mpitest::basic_types()

void add_run(std::vector<Run>& runs, std::int64_t displacement, std::int64_t bytes) {
  if (bytes == 0) return;
  if (!runs.empty() && runs.back().displacement + runs.back().bytes == displacement) {
    runs.back().bytes += bytes;
  } else {
    runs.push_back({displacement, bytes});
  }
}

Layout contiguous(std::int64_t bytes) {
  Layout layout;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_dup(MPI_BYTE, &type);
  layout.type = OwnedType(type);
  layout.count = static_cast<int>(bytes);
  add_run(layout.runs, 0, bytes);
  return layout;
}

// Adds `rest` bytes, which did not fill another block, above or below the others.
Layout with_rest(Rng& rng, Layout layout, std::int64_t rest) {
  if (rest == 0) return layout;
  const auto [low, high] = bounds(layout.runs);
  const auto gap = static_cast<std::int64_t>(rng.below(20));
  const std::int64_t place = rng.chance(50) ? high + gap : low - gap - rest;
  const std::array<int, 2> lengths{layout.count, static_cast<int>(rest)};
  const std::array<MPI_Aint, 2> places{0, place};
  const std::array<MPI_Datatype, 2> types{layout.type.get(), MPI_BYTE};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &type);
  layout.type = OwnedType(type);
  layout.count = 1;
  add_run(layout.runs, place, rest);
  return layout;
}

// Equal blocks at an equal stride, upwards or downwards.
Layout strided(Rng& rng, std::int64_t bytes) {
  constexpr std::array<std::int64_t, 11> blocks{1, 2, 4, 8, 12, 16, 24, 64, 100, 512, 4096};
  std::int64_t block = blocks[rng.below(blocks.size())];
  if (bytes > 200000) block = std::max<std::int64_t>(block, 8);
  const std::int64_t copies = bytes / block;
  std::int64_t stride = block + rng.between(1, 40);
  if (rng.chance(40)) stride = -stride;
  Layout layout;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(static_cast<int>(copies), static_cast<int>(block), stride, MPI_BYTE, &type);
  layout.type = OwnedType(type);
  layout.count = 1;
  for (std::int64_t i = 0; i < copies; ++i) add_run(layout.runs, i * stride, block);
  return with_rest(rng, std::move(layout), bytes - copies * block);
}

// Pieces of all lengths, some empty, that come in another order than they lie in memory.
Layout scattered(Rng& rng, std::int64_t bytes) {
  const std::int64_t longest = std::max<std::int64_t>(1, bytes / rng.between(1, 300));
  std::vector<int> lengths;
  for (std::int64_t left = bytes; left > 0;) {
    const std::int64_t length = std::min(left, rng.chance(5) ? 0 : rng.between(1, longest));
    lengths.push_back(static_cast<int>(length));
    left -= length;
  }
  std::vector<std::size_t> in_memory(lengths.size());
  for (std::size_t i = 0; i < in_memory.size(); ++i) in_memory[i] = i;
  if (rng.chance(70)) {
    for (std::size_t i = in_memory.size(); i > 1; --i) std::swap(in_memory[i - 1], in_memory[rng.below(i)]);
  }
  std::vector<MPI_Aint> places(lengths.size());
  MPI_Aint place = rng.between(-5000, 5000);
  for (const std::size_t i : in_memory) {
    places[i] = place;
    place += lengths[i] + (rng.chance(30) ? 0 : rng.between(0, 30));
  }
  Layout layout;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_BYTE, &type);
  layout.type = OwnedType(type);
  layout.count = 1;
  for (std::size_t i = 0; i < lengths.size(); ++i) add_run(layout.runs, places[i], lengths[i]);
  return layout;
}

// Whether neighbours share a byte. Those further apart than the type is long cannot, so a few copies tell.
bool copies_overlap(const mpitest::RandomType& type, std::int64_t copies) {
  const mpitest::Span one = mpitest::span_of(type, 1);
  const std::int64_t extent = std::abs(type.extent());
  if (extent == 0) return copies > 1 || mpitest::overlaps(type, 1);
  return mpitest::overlaps(type, std::min(copies, (one.high - one.low) / extent + 2));
}

// Copies of a small type nested of all constructors.
Layout grown(Rng& rng, std::int64_t bytes) {
  const std::int64_t shortest = 1 + bytes / 20000;  // bounds the runs to walk
  const std::int64_t unit =
      bytes < 3000 && rng.chance(30) ? bytes : std::min(bytes, shortest + rng.between(0, 90));
  const std::int64_t copies = bytes / unit;
  const mpitest::Signature signature(static_cast<std::size_t>(unit), kByte);
  for (int attempt = 0; attempt < 8; ++attempt) {
    mpitest::TypeMaker maker(rng, attempt < 4 ? 2 : 1);
    const mpitest::RandomType grown = maker.make(signature, static_cast<int>(rng.between(1, 4)));
    const mpitest::Span span = mpitest::span_of(grown, copies);
    if (span.high - span.low > 6 * bytes + 20000) continue;
    if (copies_overlap(grown, copies)) continue;
    Layout layout;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_dup(grown.handle, &type);
    layout.type = OwnedType(type);
    layout.count = static_cast<int>(copies);
    for (std::int64_t i = 0; i < copies; ++i) {
      for (const mpitest::Item& item : grown.map)
        add_run(layout.runs, item.displacement + i * grown.extent(), 1);
    }
    return with_rest(rng, std::move(layout), bytes - copies * unit);
  }
  return contiguous(bytes);
}

// Many instances of nothing.
Layout empty(Rng& rng) {
  Layout layout;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(0, nullptr, nullptr, MPI_DOUBLE, &type);
  layout.type = OwnedType(type);
  layout.count = static_cast<int>(rng.below(50));
  return layout;
}

}  // namespace

std::pair<std::int64_t, std::int64_t> bounds(const std::vector<Run>& runs) {
  if (runs.empty()) return {0, 0};
  std::int64_t low = std::numeric_limits<std::int64_t>::max();
  std::int64_t high = std::numeric_limits<std::int64_t>::min();
  for (const Run& run : runs) {
    low = std::min(low, run.displacement);
    high = std::max(high, run.displacement + run.bytes);
  }
  return {low, high};
}

Layout draw_layout(Rng& rng, std::uint64_t bytes) {
  const auto length = static_cast<std::int64_t>(bytes);
  const std::uint64_t shape = rng.below(10);
  if (bytes == 0 && shape < 6) return empty(rng);
  if (bytes == 0 || shape < 3) return contiguous(length);
  if (shape < 5) return strided(rng, length);
  if (shape < 7) return scattered(rng, length);
  return grown(rng, length);
}

}  // namespace p2p_random
