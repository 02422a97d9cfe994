#include "osu_bench/common/cases.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <random>
#include <stdexcept>
#include <utility>

namespace stria::bench {
namespace {

using Random = std::minstd_rand;

constexpr std::int64_t kDouble = 8;
constexpr std::int64_t kFloat = 4;
constexpr std::int64_t kKiB = 1024;

std::int64_t one_to(std::int64_t most, Random& random) {
  return static_cast<std::int64_t>(random()) % most + 1;
}

Recipe column(std::int64_t n) {
  return Recipe::vector(n, 1, n * kDouble, Recipe::float64());
}

/// `total` bytes of doubles in blocks of `block` bytes, a block and a gap of the same length in turn.
Recipe blocks(std::int64_t total, std::int64_t block) {
  return Recipe::vector(total / block, block / kDouble, 2 * block, Recipe::float64());
}

Recipe irregular(std::int64_t count, Random random) {
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> displacements;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    at += one_to(16, random) * kDouble;
    lengths.push_back(one_to(16, random));
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

/// The face of an a x b x c box of doubles (c fastest) across dimension `across`, 0 the slowest.
Recipe face(std::int64_t a, std::int64_t b, std::int64_t c, long across) {
  const std::int64_t row = c * kDouble;
  const std::int64_t plane = b * row;
  if (across == 0) return Recipe::vector(b, c, row, Recipe::float64());
  if (across == 1) return Recipe::vector(a, c, plane, Recipe::float64());
  return Recipe::vector(a, 1, plane, Recipe::vector(b, 1, row, Recipe::float64()));
}

Recipe by_columns(std::int64_t n) {
  return Recipe::contiguous(n, Recipe::resized(kDouble, column(n)));
}

/// The face of a 16^4 lattice across dimension `across`, 0 the slowest; a site is a vector of three complex
/// numbers, as in lattice QCD.
Recipe lattice_face(long across) {
  constexpr std::int64_t kEdge = 16;
  Recipe inner = Recipe::contiguous(6, Recipe::float64());
  std::int64_t inner_bytes = 6 * kDouble;
  for (long dimension = 3; dimension > across; --dimension) {
    inner = Recipe::contiguous(kEdge, std::move(inner));
    inner_bytes *= kEdge;
  }
  for (long dimension = across - 1; dimension >= 0; --dimension) {
    inner_bytes *= kEdge;
    inner = Recipe::vector(kEdge, 1, inner_bytes, std::move(inner));
  }
  return inner;
}

/// What molecular dynamics keeps of particles, an array of `room` for each of position, tag, type, mask and
/// charge; part(element) is what is taken of an array.
template <class Part>
Recipe of_particles(std::int64_t room, Part&& part) {
  Recipe position = Recipe::contiguous(3, Recipe::float64());
  std::vector<Recipe> children;
  std::vector<std::int64_t> displacements;
  std::int64_t array = 0;
  for (const Recipe& element :
       {position, Recipe::int32(), Recipe::int32(), Recipe::int32(), Recipe::float64()}) {
    children.push_back(part(element));
    displacements.push_back(array);
    array += room * element.size();  // a multiple of 8, as `room` is
  }
  return Recipe::composite(std::move(displacements), std::move(children));
}

/// `count` particles, about two in nine of those before the last.
Recipe chosen_particles(std::int64_t count, Random random) {
  std::vector<std::int64_t> chosen;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    chosen.push_back(at);
    at += 1 + one_to(6, random);  // never two neighbours
  }
  const std::vector<std::int64_t> ones(chosen.size(), 1);
  return of_particles(8 * count, [&](const Recipe& element) {
    std::vector<std::int64_t> displacements;
    for (const std::int64_t index : chosen) displacements.push_back(index * element.size());
    return Recipe::indexed(ones, std::move(displacements), element);
  });
}

/// As many particles in a row, as a receiver keeps its neighbours'.
Recipe ghost_particles(std::int64_t count) {
  return of_particles(8 * count, [&](const Recipe& element) { return Recipe::contiguous(count, element); });
}

/// The halo of a weather model: six fields of float[j][k][i] and two of float[j][i], three points wide,
/// across i (0) or j (1); a structure of subarrays.
Recipe weather_halo(long across) {
  constexpr std::int64_t kI = 134, kK = 40, kJ = 134, kHalo = 3;
  const std::int64_t wide_i = across == 0 ? kHalo : kI - 2 * kHalo;
  const std::int64_t wide_j = across == 1 ? kHalo : kJ - 2 * kHalo;
  const auto field = [&](std::int64_t levels) {
    const std::int64_t row = kI * kFloat;
    return Recipe::vector(wide_j, 1, levels * row, Recipe::vector(levels, wide_i, row, Recipe::float32()));
  };
  std::vector<std::int64_t> displacements;
  std::vector<Recipe> children;
  std::int64_t array = 0;
  for (const std::int64_t levels : {kK, kK, kK, kK, kK, kK, std::int64_t{1}, std::int64_t{1}}) {
    displacements.push_back(array + (kHalo * levels * kI + kHalo) * kFloat);
    children.push_back(field(levels));
    array += kI * levels * kJ * kFloat;
  }
  return Recipe::composite(std::move(displacements), std::move(children));
}

/// A column of 1024 rows in four descriptions of the same memory, which have to be equally fast.
Recipe same_column(long how) {
  constexpr std::int64_t kN = 1024;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < kN; ++i) places.push_back(i * kN * kDouble);
  switch (how) {
    case 0:
      return column(kN);
    case 1:
      return Recipe::indexed(std::vector<std::int64_t>(places.size(), 1), places, Recipe::float64());
    case 2:
      return Recipe::composite(places, std::vector<Recipe>(places.size(), Recipe::float64()));
    default:
      return Recipe::contiguous(kN, Recipe::resized(kN * kDouble, Recipe::float64()));
  }
}

/// A name's parameters, and how its two sides are made.
struct Family {
  const char* name;
  std::vector<long> parameters;
  std::function<Recipe(long)> sent;
  std::function<Recipe(long)> received;  ///< empty: as sent
};

std::vector<Family> families(std::uint64_t seed) {
  const Random random(static_cast<Random::result_type>(seed));
  const auto rows = [](long n) { return Recipe::contiguous(std::int64_t{n} * n, Recipe::float64()); };
  return {
      {"column", {64, 128, 256, 512, 1024, 2048, 4096, 8192}, column, {}},
      {"vector-64K", {8, 64, 1024, 16384}, [](long b) { return blocks(64 * kKiB, b); }, {}},
      {"vector-1M", {8, 32, 64, 256, 1024, 4096, 16384}, [](long b) { return blocks(kKiB * kKiB, b); }, {}},
      {"vector-16M", {64, 1024, 16384}, [](long b) { return blocks(16 * kKiB * kKiB, b); }, {}},
      {"indexed", {100, 1000, 10000, 100000, 1000000}, [=](long n) { return irregular(n, random); }, {}},
      {"struct", {100, 1000, 10000, 100000}, structures, {}},
      {"face", {0, 1, 2}, [](long across) { return face(128, 128, 128, across); }, {}},
      {"face-512", {0, 1, 2}, [](long across) { return face(512, 512, 64, across); }, {}},
      {"transpose", {64, 256, 1024}, by_columns, rows},
      {"transpose-in", {256, 1024}, rows, by_columns},
      {"same-column", {0, 1, 2, 3}, same_column, {}},
      {"column-row", {512, 4096}, column, [](long n) { return Recipe::contiguous(n, Recipe::float64()); }},
      {"lattice", {0, 1, 2, 3}, lattice_face, {}},
      {"particles", {100, 1000, 10000}, [=](long n) { return chosen_particles(n, random); }, ghost_particles},
      {"weather", {0, 1}, weather_halo, {}},
  };
}

std::string with_parameter(const Family& family, long parameter) {
  return std::string(family.name) + ":" + std::to_string(parameter);
}

bool among(const auto& list, const auto& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

void check_cases(const Selection& selection) {
  const std::vector<Family> all = families(selection.seed);
  for (const std::string& wanted : selection.cases) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const Family& family) {
      return wanted == family.name ||
             std::any_of(family.parameters.begin(), family.parameters.end(),
                         [&](long p) { return wanted == with_parameter(family, p); });
    });
    if (known) continue;
    std::string names;
    for (const Family& family : all) names += (names.empty() ? "" : ", ") + std::string(family.name);
    throw std::invalid_argument("there is no case \"" + wanted + "\"; there are " + names);
  }
}

std::vector<Case> datatype_cases(const Selection& selection) {
  std::vector<Case> chosen;
  for (const Family& family : families(selection.seed)) {
    const bool whole = selection.cases.empty() || among(selection.cases, std::string(family.name));
    for (const long parameter : family.parameters) {
      if (!whole && !among(selection.cases, with_parameter(family, parameter))) continue;
      if (!selection.parameters.empty() && !among(selection.parameters, parameter)) continue;
      Recipe sent = family.sent(parameter);
      if (selection.largest != 0 && static_cast<std::size_t>(sent.size()) > selection.largest) continue;
      Recipe received = family.received ? family.received(parameter) : sent;
      chosen.push_back({family.name, parameter, std::move(sent), std::move(received)});
    }
  }
  return chosen;
}

}  // namespace stria::bench
