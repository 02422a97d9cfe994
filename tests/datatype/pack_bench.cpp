// Question: what does packing a matrix column cost, against a loop written by hand and against memcpy of as
// many bytes? Argument: N of an N x N matrix of doubles. The result is checked outside the timed part.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "datatype/pack.hpp"

namespace {

using stria::datatype::Layout;

struct Column {
  explicit Column(std::int64_t rows)
      : n(rows),
        layout(*Layout::strided(rows, rows * 8, Layout::bytes(8))),
        matrix(static_cast<std::size_t>(rows * rows)),
        packed(static_cast<std::size_t>(rows)) {
    std::iota(matrix.begin(), matrix.end(), 0.0);
  }
  void check(benchmark::State& state) const {
    for (std::int64_t i = 0; i < n; ++i)
      if (packed[static_cast<std::size_t>(i)] != matrix[static_cast<std::size_t>(i * n)]) {
        state.SkipWithError("wrong bytes");
        return;
      }
    state.SetBytesProcessed(state.iterations() * n * 8);
  }
  std::int64_t n;
  Layout layout;
  std::vector<double> matrix, packed;
};

void pack_column(benchmark::State& state) {
  Column c(state.range(0));
  for (auto _ : state) {
    stria::datatype::pack(c.layout, c.matrix.data(), 1, 0, c.n * 8, c.packed.data());
    benchmark::ClobberMemory();
  }
  c.check(state);
}
void pack_column_by_hand(benchmark::State& state) {
  Column c(state.range(0));
  for (auto _ : state) {
    for (std::int64_t i = 0; i < c.n; ++i)
      c.packed[static_cast<std::size_t>(i)] = c.matrix[static_cast<std::size_t>(i * c.n)];
    benchmark::ClobberMemory();
  }
  c.check(state);
}
void unpack_column(benchmark::State& state) {
  Column c(state.range(0));
  std::iota(c.packed.begin(), c.packed.end(), 1.0);
  for (auto _ : state) {
    stria::datatype::unpack(c.layout, c.matrix.data(), 1, 0, c.n * 8, c.packed.data());
    benchmark::ClobberMemory();
  }
  c.check(state);
}
void unpack_column_by_hand(benchmark::State& state) {
  Column c(state.range(0));
  std::iota(c.packed.begin(), c.packed.end(), 1.0);
  for (auto _ : state) {
    for (std::int64_t i = 0; i < c.n; ++i)
      c.matrix[static_cast<std::size_t>(i * c.n)] = c.packed[static_cast<std::size_t>(i)];
    benchmark::ClobberMemory();
  }
  c.check(state);
}
void memcpy_of_as_many_bytes(benchmark::State& state) {
  std::vector<double> from(static_cast<std::size_t>(state.range(0)), 1.0), to(from.size());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size() * 8);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 8);
}
/// A column to the same column of another matrix, without a packed copy.
void transfer_column_to_column(benchmark::State& state) {
  Column a(state.range(0)), b(state.range(0));
  for (auto _ : state) {
    stria::datatype::transfer(a.layout, a.matrix.data(), 1, b.layout, b.matrix.data(), 1, a.n * 8);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * a.n * 8);
}
/// Setup cost: an indexed type of N irregular entries.
void compile_irregular(benchmark::State& state) {
  std::vector<std::int64_t> lens, at;
  std::uint64_t x = 1;
  std::int64_t place = 0;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    lens.push_back(1 + static_cast<std::int64_t>(x >> 60));
    at.push_back(place);
    place += lens.back() * 8 + 8 + static_cast<std::int64_t>(x >> 40) % 256;
  }
  for (auto _ : state) benchmark::DoNotOptimize(Layout::indexed(lens, at, Layout::bytes(8)));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(pack_column)->RangeMultiplier(2)->Range(64, 4096);
BENCHMARK(pack_column_by_hand)->RangeMultiplier(2)->Range(64, 4096);
BENCHMARK(unpack_column)->RangeMultiplier(2)->Range(64, 4096);
BENCHMARK(unpack_column_by_hand)->RangeMultiplier(2)->Range(64, 4096);
BENCHMARK(memcpy_of_as_many_bytes)->RangeMultiplier(2)->Range(64, 4096);
BENCHMARK(transfer_column_to_column)->RangeMultiplier(2)->Range(64, 4096);
BENCHMARK(compile_irregular)->RangeMultiplier(32)->Range(1024, 1 << 20)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
