// The payload of the datatype cases, and the columns of their rows: what the benchmark and its floor share.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "osu_bench/common/pattern.hpp"
#include "osu_bench/common/recipe.hpp"
#include "osu_bench/common/report.hpp"

namespace stria::bench {

inline void fill_shape(const Recipe& shape, std::byte* base, std::uint64_t seed) {
  std::uint64_t position = 0;
  shape.walk(0, [&](std::int64_t at, std::int64_t bytes) {
    fill_pattern(base + at, static_cast<std::size_t>(bytes), seed, position);
    position += static_cast<std::uint64_t>(bytes);
  });
}

inline void clear_shape(const Recipe& shape, std::byte* base) {
  shape.walk(0, [&](std::int64_t at, std::int64_t bytes) {
    std::memset(base + at, 0, static_cast<std::size_t>(bytes));
  });
}

/// Gaps are looked at, and have to be 0 at the start, in memory of at most so many bytes.
inline constexpr std::int64_t kMostForGaps = 16 << 20;

/// Whether the shape holds the stream `seed` and nothing else was written.
inline bool shape_is_right(const Recipe& shape, const std::byte* base, std::uint64_t seed) {
  std::uint64_t position = 0;
  bool right = true;
  const std::int64_t end = shape.end();
  std::vector<bool> used(static_cast<std::size_t>(end <= kMostForGaps ? end : 0));
  shape.walk(0, [&](std::int64_t at, std::int64_t bytes) {
    right = right && has_pattern(base + at, static_cast<std::size_t>(bytes), seed, position);
    position += static_cast<std::uint64_t>(bytes);
    for (std::int64_t i = at; i < at + bytes && !used.empty(); ++i) used[static_cast<std::size_t>(i)] = true;
  });
  for (std::size_t i = 0; i < used.size(); ++i) right = right && (used[i] || base[i] == std::byte{0});
  return right;
}

/// What the rows of osu_datatype and of its floor have in common.
inline std::vector<Column> datatype_columns() {
  return with_distance({{"case", "Case"},
                        {"parameter", "Parameter"},
                        {"way", "Way"},
                        {"size", "Size"},
                        {"latency_us", "Latency (us)", 3},
                        {"min_us", "Min (us)", 3},
                        {"median_us", "Median (us)", 3},
                        {"p99_us", "P99 (us)", 3},
                        {"iterations", "Iterations"},
                        {"valid", "Validation"}});
}

}  // namespace stria::bench
