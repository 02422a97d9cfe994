// What the benchmarks of the datatype room share: irregular lists, and the ones of commits.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "datatype/layout.hpp"

namespace stria::bench {

using Vec = std::vector<std::int64_t>;

template <class T>
T must(stria::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().context.c_str());
    std::abort();
  }
  return std::move(*result);
}

struct List {
  std::vector<int> lengths, places;
  int end = 0;
};

/// Blocks of 1..most doubles with gaps of 1..32 doubles.
inline List irregular_list(std::int64_t n, int most) {
  List list;
  std::uint64_t x = 1;
  for (std::int64_t i = 0; i < n; ++i) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    list.lengths.push_back(1 + static_cast<int>((x >> 33) % static_cast<unsigned>(most)));
    list.places.push_back(list.end);
    list.end += list.lengths.back() + 1 + static_cast<int>((x >> 48) % 32);
  }
  return list;
}

/// Those of commits (commit_bench.cpp), of types of `n` entries.
void declare_commits(std::int64_t n);

}  // namespace stria::bench
