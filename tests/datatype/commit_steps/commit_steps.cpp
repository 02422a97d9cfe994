// Types of n entries and of four times as many, made by each constructor that takes lists, for `count`, which
// has callgrind count what stria_counted() executes. Prints a line for each call of it: shape, entries.
// Nothing here depends on time or on addresses, so the counts are the same in every run.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include "datatype/layout.hpp"

/// callgrind collects inside of this function alone.
extern "C" [[gnu::noinline]] void stria_counted(void (*work)(void*), void* argument) {
  work(argument);
  asm volatile("" ::: "memory");
}

namespace stria::datatype {
namespace {

using Vec = std::vector<std::int64_t>;

constexpr std::int64_t kShorter = 20000;  // more runs than are written out to be looked at
constexpr std::int64_t kLonger = 4 * kShorter;

struct Lists {
  Vec lengths, places;
};
/// Entries of length(i) words, gap(i) bytes behind each.
Lists lists(std::int64_t n, const std::function<std::int64_t(std::int64_t)>& length,
            const std::function<std::int64_t(std::int64_t)>& gap) {
  Lists out;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    out.lengths.push_back(length(i));
    out.places.push_back(at);
    at += out.lengths.back() * 8 + gap(i);
  }
  return out;
}

class Commits {
 public:
  /// Makes the type, which has to be `n` entries.
  void count(const char* shape, std::int64_t n, const std::function<Result<Layout>()>& make) {
    Result<Layout> made = Error{Status::invalid, "not made"};
    auto work = [&] { made = make(); };
    stria_counted([](void* of) { (*static_cast<decltype(work)*>(of))(); }, &work);
    if (!made) {
      std::fprintf(stderr, "%s: %s\n", shape, made.error().context.c_str());
      std::exit(1);
    }
    std::printf("%s %ld\n", shape, static_cast<long>(n));
  }
  void indexed(const char* shape, const Lists& of, const Layout& child = Layout::bytes(8)) {
    count(shape, static_cast<std::int64_t>(of.lengths.size()),
          [&] { return Layout::indexed(of.lengths, of.places, child); });
  }

  void all(std::int64_t n) {
    std::mt19937_64 random(5);
    const auto below = [&](std::int64_t most) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
    };
    const auto one = [](std::int64_t) { return std::int64_t{1}; };
    const auto any_length = [&](std::int64_t) { return 1 + below(16); };
    const auto any_gap = [&](std::int64_t) { return 8 * (1 + below(16)); };
    const auto row = [](std::int64_t) { return std::int64_t{4088}; };

    indexed("indexed_irregular", lists(n, any_length, any_gap));
    const Lists apart = lists(n, one, any_gap);
    count("indexed_block_irregular", n,
          [&] { return Layout::indexed_block(1, apart.places, Layout::bytes(8)); });
    indexed("indexed_touching", lists(n, any_length, [](std::int64_t) { return 0; }));
    const Lists column = lists(n, one, row);
    indexed("column_as_indexed", column);
    count("column_as_indexed_block", n,
          [&] { return Layout::indexed_block(1, column.places, Layout::bytes(8)); });
    const std::vector<Layout> words(column.places.size(), Layout::bytes(8));
    count("column_as_struct", n, [&] { return Layout::composite(column.lengths, column.places, words); });
    Lists but_one = column;
    but_one.places.back() += 8;
    indexed("column_but_for_its_end", but_one);
    indexed("half_and_half", lists(
                                 n, [&](std::int64_t i) { return 1 + i % (n / 2) * (i % (n / 2)) % 7; },
                                 [&](std::int64_t i) { return 8 * (1 + i % (n / 2) % 13); }));
    indexed("short_rows", lists(n, one, [&](std::int64_t i) { return i % 7 == 6 ? any_gap(i) : 8; }));
    indexed("long_rows", lists(n, one, [&](std::int64_t i) { return i % 200 == 199 ? any_gap(i) : 8; }));
    structs(n, below);
  }

 private:
  void structs(std::int64_t n, const std::function<std::int64_t(std::int64_t)>& below) {
    const Layout word = Layout::bytes(8);
    const std::vector<Layout> kinds{word, *Layout::vector(2, 1, 24, word), *Layout::vector(3, 1, 24, word),
                                    *Layout::indexed(Vec{1, 1, 1}, Vec{0, 24, 65}, word)};
    std::vector<Layout> children;
    Vec places;
    const Vec ones(static_cast<std::size_t>(n), 1);
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      children.push_back(kinds[static_cast<std::size_t>(below(4))]);
      places.push_back(at);
      at += 100 + below(50);
    }
    count("struct_of_four_kinds", n, [&] { return Layout::composite(ones, places, children); });
    indexed("indexed_of_vectors", {ones, places}, kinds[1]);
  }
};

}  // namespace
}  // namespace stria::datatype

int main() {
  using namespace stria::datatype;
  Commits commits;
  for (const std::int64_t n : {kShorter, kLonger}) commits.all(n);
}
