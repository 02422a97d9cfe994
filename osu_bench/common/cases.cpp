#include "osu_bench/common/cases.hpp"

#include <cstddef>
#include <random>

namespace stria::bench {
namespace {

constexpr std::int64_t kDouble = 8;

Recipe column(std::int64_t n) {
  return Recipe::vector(n, 1, n * kDouble, Recipe::float64());
}

Recipe blocks(std::int64_t block_bytes) {
  constexpr std::int64_t kTotal = 64 << 10;
  return Recipe::vector(kTotal / block_bytes, block_bytes / kDouble, 2 * block_bytes, Recipe::float64());
}

Recipe irregular(std::int64_t count) {
  std::minstd_rand random(12345);  // fixed: every run and both ranks see the same gaps
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> displacements;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    at += static_cast<std::int64_t>(random() % 7 + 1) * kDouble;
    lengths.push_back(static_cast<std::int64_t>(random() % 4 + 1));
    displacements.push_back(at);
    at += lengths.back() * kDouble;
  }
  return Recipe::indexed(std::move(lengths), std::move(displacements), Recipe::float64());
}

Recipe structures(std::int64_t count) {
  struct Item {
    double weight;
    int index;
    char tag;
  };
  const auto offset = [](std::size_t bytes) { return static_cast<std::int64_t>(bytes); };
  Recipe item = Recipe::composite(
      {offset(offsetof(Item, weight)), offset(offsetof(Item, index)), offset(offsetof(Item, tag))},
      {Recipe::float64(), Recipe::int32(), Recipe::int8()});
  return Recipe::contiguous(count, Recipe::resized(sizeof(Item), std::move(item)));
}

Recipe face(int across) {
  constexpr std::int64_t kEdge = 128;
  constexpr std::int64_t kRow = kEdge * kDouble;
  constexpr std::int64_t kPlane = kEdge * kRow;
  if (across == 0) return Recipe::vector(kEdge, kEdge, kRow, Recipe::float64());
  if (across == 1) return Recipe::vector(kEdge, kEdge, kPlane, Recipe::float64());
  return Recipe::vector(kEdge, 1, kPlane, Recipe::vector(kEdge, 1, kRow, Recipe::float64()));
}

Recipe by_columns(std::int64_t n) {
  return Recipe::contiguous(n, Recipe::resized(kDouble, column(n)));
}

}  // namespace

std::vector<Case> datatype_cases() {
  std::vector<Case> all;
  const auto same = [&](const char* name, long parameter, const Recipe& shape) {
    all.push_back({name, parameter, shape, shape});
  };
  for (long n = 64; n <= 8192; n *= 2) same("column", n, column(n));
  for (const long bytes : {8, 64, 256, 1024, 4096, 16384}) same("vector", bytes, blocks(bytes));
  for (const long count : {64, 512, 4096, 32768}) same("indexed", count, irregular(count));
  for (const long count : {64, 512, 4096, 32768}) same("struct", count, structures(count));
  for (const int across : {0, 1, 2}) same("face", across, face(across));
  for (const long n : {64, 256, 1024}) {
    all.push_back({"transpose", n, Recipe::contiguous(n * n, Recipe::float64()), by_columns(n)});
  }
  return all;
}

}  // namespace stria::bench
