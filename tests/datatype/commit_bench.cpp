// Question: what does a type cost to commit, beside a copy of what its constructor is given?
#include <benchmark/benchmark.h>

#include <functional>
#include <string>

#include "tests/datatype/bench_lists.hpp"

namespace stria::bench {
namespace {

using datatype::Layout;

/// What a constructor is given.
struct Given {
  std::vector<Vec> lists;
  std::vector<Layout> children;
};
using MakeGiven = std::function<Given()>;

/// Setup cost of a type; beside it the copy of what its constructor is given, a child being a handle. Both
/// write memory that was never written before (main()), as a type is committed once.
void declare_commit(const std::string& name, const MakeGiven& make, Layout (*commit)(const Given&)) {
  benchmark::RegisterBenchmark((name + "/stria").c_str(), [=](benchmark::State& state) {
    const Given given = make();
    for (auto _ : state) benchmark::DoNotOptimize(commit(given));
  })->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark((name + "/copy").c_str(), [=](benchmark::State& state) {
    Given given = make();
    if (!given.children.empty()) given.lists.emplace_back(given.children.size());
    for (auto _ : state) {
      std::vector<Vec> copy = given.lists;
      benchmark::DoNotOptimize(copy.data());
      benchmark::ClobberMemory();
    }
  })->Unit(benchmark::kMicrosecond);
}

Layout commit_indexed(const Given& given) {
  return must(Layout::indexed(given.lists[0], given.lists[1], Layout::bytes(8)));
}
Layout commit_indexed_block(const Given& given) {
  return must(Layout::indexed_block(1, given.lists[0], Layout::bytes(8)));
}
Layout commit_composite(const Given& given) {
  return must(Layout::composite(given.lists[0], given.lists[1], given.children));
}

Vec places_in_bytes(const List& list) {
  Vec places;
  for (const int p : list.places) places.push_back(std::int64_t{p} * 8);
  return places;
}
/// Of three kinds without a rule, 128 bytes apart or nearly.
Given struct_of_kinds(std::int64_t n) {
  const Layout kinds[] = {Layout::bytes(8), must(Layout::vector(2, 1, 24, Layout::bytes(8))),
                          must(Layout::vector(3, 1, 24, Layout::bytes(8)))};
  Given given{{Vec(static_cast<std::size_t>(n), 1), Vec()}, {}};
  for (const int length : irregular_list(n, 16).lengths) given.children.push_back(kinds[length % 3]);
  for (std::int64_t i = 0; i < n; ++i) given.lists[1].push_back(i * 128 + i % 3 * 8);
  return given;
}

}  // namespace

void declare_commits(std::int64_t n) {
  const auto declare_shape = [n](const char* shape, const MakeGiven& make, Layout (*commit)(const Given&)) {
    declare_commit(std::string("commit_") + shape + "/" + std::to_string(n), make, commit);
  };
  const auto irregular_lists = [n] {
    const List list = irregular_list(n, 16);
    return Given{{Vec(list.lengths.begin(), list.lengths.end()), places_in_bytes(list)}, {}};
  };
  const auto column_in_words = [n] {
    Given given{{Vec(static_cast<std::size_t>(n), 1), Vec()}, {}};
    for (std::int64_t i = 0; i < n; ++i) given.lists[1].push_back(i * 4096);
    return given;
  };
  declare_shape("irregular", irregular_lists, commit_indexed);
  declare_shape(
      "equal_blocks",
      [n] {
        return Given{{places_in_bytes(irregular_list(n, 16))}, {}};
      },
      commit_indexed_block);
  declare_shape("regular_list", column_in_words, commit_indexed);
  declare_shape(
      "struct", [n] { return struct_of_kinds(n); }, commit_composite);
}

}  // namespace stria::bench
