// Random types: a layout and its naive typemap, built side by side from one seed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "datatype/layout.hpp"
#include "tests/datatype/naive_typemap.hpp"
#include "tests/rounds.hpp"

namespace stria::datatype {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// Uniform in [low, high].
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool one_in(std::int64_t n) { return in(1, n) == 1; }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

using test::rounds;
/// Round i's seed; failures print it through SCOPED_TRACE.
inline std::uint64_t seed_of(std::int64_t round) {
  return static_cast<std::uint64_t>(test::from_environment("STRIA_TEST_SEED", 20240601) + round);
}

struct RandomType {
  Layout layout;
  naive::Typemap typemap;
  std::string how;  // the constructors, for failure messages
};

template <class T>
T must(Result<T> result) {
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().context);
  return std::move(*result);
}

/// A type of at most `max_bytes` bytes, nested to `depth`.
inline RandomType random_type(Random& random, int depth, std::int64_t max_bytes) {
  if (depth == 0 || random.one_in(12)) {
    static constexpr std::int64_t kSizes[] = {0, 1,  1,  2,  3,  4,  4,  5,  8, 8,
                                              8, 12, 16, 17, 24, 32, 48, 64, 70};
    const std::int64_t n = kSizes[random.in(0, std::size(kSizes) - 1)];
    return {Layout::bytes(n), naive::run(n), "bytes(" + std::to_string(n) + ")"};
  }
  const RandomType child = random_type(random, depth - 1, max_bytes);
  const std::int64_t size = child.layout.size();
  const std::int64_t extent = child.typemap.extent();
  const std::int64_t room = size == 0 ? 6 : std::min<std::int64_t>(max_bytes / size, 30);
  auto count = [&](std::int64_t most) {
    return random.in(random.one_in(10) ? 0 : 1, std::max<std::int64_t>(1, most));
  };
  auto name = [&](const char* what, std::vector<std::int64_t> v) {
    std::string s = std::string(what) + "(";
    for (const std::int64_t x : v) s += std::to_string(x) + ", ";
    return s + child.how + ")";
  };
  // Distances are often where things touch or nearly touch, sometimes anywhere, sometimes zero or negative.
  auto distance = [&]() -> std::int64_t {
    switch (random.in(0, 6)) {
      case 0:
        return extent;
      case 1:
        return extent * random.in(-3, 4);
      case 2:
        return child.typemap.true_ub() - child.typemap.true_lb();
      case 3:
        return random.in(-3, 3) * 8;
      case 4:
        return random.in(-200, 200);
      default:
        return size + random.in(0, 40);
    }
  };
  switch (random.in(0, 6)) {
    case 0: {
      const std::int64_t n = count(room);
      return {must(Layout::contiguous(n, child.layout)), naive::vector(n, 1, extent, child.typemap),
              name("contiguous", {n})};
    }
    case 1: {
      const std::int64_t n = count(room), stride = distance();
      return {must(Layout::strided(n, stride, child.layout)), naive::vector(n, 1, stride, child.typemap),
              name("strided", {n, stride})};
    }
    case 2: {
      const std::int64_t b = count(std::min<std::int64_t>(room, 4));
      const std::int64_t n = count(room / std::max<std::int64_t>(b, 1)), stride = distance();
      return {must(Layout::vector(n, b, stride, child.layout)), naive::vector(n, b, stride, child.typemap),
              name("vector", {n, b, stride})};
    }
    case 3:
    case 4: {  // indexed and indexed_block, now and then with regular stretches
      const bool equal = random.one_in(2);
      const std::int64_t most = equal ? 1 : 3;
      const std::int64_t n = count(std::max<std::int64_t>(1, room / most));
      std::vector<std::int64_t> lens, at;
      std::int64_t place = random.in(-60, 60), step = distance();
      naive::Typemap t;
      for (std::int64_t i = 0; i < n; ++i) {
        lens.push_back(equal ? 1 : random.in(0, most));
        at.push_back(place);
        naive::append_blocks(
            t, 1, lens.back(), [&](std::int64_t) { return at.back(); }, child.typemap);
        if (random.one_in(8)) step = distance();
        place += random.one_in(8) ? distance() : step;
      }
      Layout layout = equal && random.one_in(2) ? must(Layout::indexed_block(1, at, child.layout))
                                                : must(Layout::indexed(lens, at, child.layout));
      std::vector<std::int64_t> shown = lens;
      shown.insert(shown.end(), at.begin(), at.end());
      return {layout, t, name("indexed", shown)};
    }
    case 5: {
      const std::int64_t lb = random.in(-70, 70),
                         e = random.one_in(3) ? extent + random.in(-9, 9) : random.in(-60, 300);
      return {must(Layout::resized(child.layout, lb, e)), naive::resized(child.typemap, lb, e),
              name("resized", {lb, e})};
    }
    default: {
      const std::int64_t parts = random.in(1, 4);
      std::vector<std::int64_t> counts, at;
      std::vector<Layout> children;
      naive::Typemap t;
      std::string how = "struct(";
      for (std::int64_t i = 0; i < parts; ++i) {
        const RandomType part = i == 0 ? child : random_type(random, depth - 1, max_bytes / parts);
        const std::int64_t left = max_bytes - static_cast<std::int64_t>(t.bytes.size());
        const std::int64_t s = std::max<std::int64_t>(part.layout.size(), 1);
        const std::int64_t n = left >= s ? random.in(0, std::min<std::int64_t>(3, left / s)) : 0;
        counts.push_back(n);
        at.push_back(random.one_in(2) ? t.true_ub() - part.typemap.true_lb() : random.in(-150, 150));
        children.push_back(part.layout);
        naive::append_blocks(
            t, 1, n, [&](std::int64_t) { return at.back(); }, part.typemap);
        how += std::to_string(n) + " at " + std::to_string(at.back()) + " of " + part.how + "; ";
      }
      return {must(Layout::composite(counts, at, children)), t, how + ")"};
    }
  }
}

/// Memory with room for everything `typemap` touches, filled with a pattern, and guard bytes on both sides.
class TestMemory {
 public:
  explicit TestMemory(const naive::Typemap& typemap, std::uint8_t salt = 0)
      : low_(typemap.true_lb()), bytes_(static_cast<std::size_t>(typemap.true_ub() - low_) + 2 * kGuard) {
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      bytes_[i] = static_cast<std::byte>((i * 2654435761U >> 7) + salt);
  }
  std::byte* base() { return bytes_.data() + kGuard - low_; }
  std::byte& at(std::int64_t displacement) {
    return bytes_[static_cast<std::size_t>(displacement - low_) + kGuard];
  }
  friend bool operator==(const TestMemory& a, const TestMemory& b) { return a.bytes_ == b.bytes_; }

 private:
  static constexpr std::size_t kGuard = 64;
  std::int64_t low_;
  std::vector<std::byte> bytes_;
};

/// Cuts [0, total) into random fragments and shuffles them.
inline std::vector<std::pair<std::int64_t, std::int64_t>> random_fragments(Random& random,
                                                                           std::int64_t total) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  const std::int64_t most = random.one_in(3) ? 7 : random.in(1, total + 1);
  for (std::int64_t at = 0; at < total;) {
    const std::int64_t n = std::min(total - at, random.in(1, most));
    out.emplace_back(at, n);
    at += n;
  }
  std::shuffle(out.begin(), out.end(), random.engine());
  return out;
}

}  // namespace stria::datatype
