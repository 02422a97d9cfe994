// Lists of blocks: stretches of one length, mixed lengths, and transfers between lists in step, against the
// naive typemap walk.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <numeric>

#include "tests/datatype/check_pack.hpp"
#include "tests/datatype/check_transfer.hpp"

namespace stria::datatype {
namespace {

using Vec = std::vector<std::int64_t>;

/// Lengths in runs of one length, of which many are as long as the shortest stretch or one block shorter or
/// longer; between them, lengths of a class.
Vec random_lengths(Random& random, std::int64_t blocks) {
  static constexpr std::int64_t kMost[] = {3, 8, 31, 32, 33, 63, 64, 65, 100, 128, 129, 300};
  static constexpr std::int64_t kRuns[] = {1, 1, 1, 2, 15, 16, 17, 60};
  const std::int64_t most = kMost[random.in(0, std::size(kMost) - 1)];
  const bool in_runs = random.one_in(2);
  Vec lengths;
  while (static_cast<std::int64_t>(lengths.size()) < blocks) {
    const std::int64_t bytes = random.one_in(200) ? random.in(1, 20000) : random.in(1, most);
    const std::int64_t run = in_runs ? kRuns[random.in(0, std::size(kRuns) - 1)] : 1;
    lengths.insert(lengths.end(), static_cast<std::size_t>(run), bytes);
  }
  return lengths;
}

enum class Order { ascending, shuffled, overlapping };

Vec random_places(Random& random, const Vec& lengths, Order order) {
  Vec places(lengths.size());
  std::vector<std::size_t> turns(lengths.size());
  std::iota(turns.begin(), turns.end(), std::size_t{0});
  if (order == Order::shuffled) std::shuffle(turns.begin(), turns.end(), random.engine());
  std::int64_t at = random.in(-500, 500);
  for (const std::size_t i : turns) {
    places[i] = at;
    at += order == Order::overlapping ? random.in(-30, 60) : lengths[i] + random.in(1, 90);
  }
  return places;
}

RandomType list_of(const Vec& lengths, const Vec& places) {
  RandomType type{must(Layout::indexed(lengths, places, Layout::bytes(1))), {}, "list"};
  for (std::size_t i = 0; i < lengths.size(); ++i) type.typemap.append(naive::run(lengths[i]), places[i]);
  return type;
}

Order any_order(Random& random) {
  return static_cast<Order>(random.in(0, 2));
}

TEST(Stretches, are_the_runs_of_equal_lengths_and_what_lies_between) {
  for (std::int64_t round = 0; round < rounds(2000); ++round) {
    Random random(seed_of(round));
    Vec starts{0};
    const Vec lengths = random_lengths(random, random.in(2, 200));
    for (const std::int64_t n : lengths) starts.push_back(starts.back() + n);
    if (random.one_in(2)) starts.push_back(starts.back() + (std::int64_t{1} << 40));  // in 64 bits
    const Offsets list(starts);
    const std::vector<Stretch> stretches = stretches_of(list);
    const std::int64_t widest = starts.back() >= kBeyondCaches ? kFromMemory : 128;
    std::int64_t begin = 0;
    bool after_equal = true;  // two mixed ones never follow each other
    for (const Stretch& s : stretches) {
      SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << ", to block " << s.end);
      ASSERT_GT(s.end, begin);
      std::int64_t above = 0, run = 0, last = -1;
      std::int64_t others[] = {0, 0};  // above 32, above 64
      for (std::int64_t i = begin; i < s.end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const std::int64_t bytes = starts[at + 1] - starts[at];
        above += bytes > s.bytes ? 1 : 0;
        others[0] += bytes > 32 ? 1 : 0;
        others[1] += bytes > 64 ? 1 : 0;
        run = bytes == last ? run + 1 : 1;
        last = bytes;
        ASSERT_TRUE(s.equal ? bytes == s.bytes : run < kMinStretch);
      }
      const std::int64_t n = s.end - begin;
      if (s.equal) {
        ASSERT_GE(n, kMinStretch);
      } else {
        ASSERT_TRUE(s.bytes == 32 || s.bytes == 64 || s.bytes == widest);
        ASSERT_TRUE(s.bytes == widest || above * kFew <= n);
        ASSERT_TRUE(s.bytes == 32 || others[0] * kFew > n);
        ASSERT_TRUE(s.bytes != widest || others[1] * kFew > n);
      }
      ASSERT_TRUE(s.equal || after_equal);
      after_equal = s.equal;
      begin = s.end;
    }
    ASSERT_EQ(begin, static_cast<std::int64_t>(starts.size()) - 1);
  }
}

TEST(Lists, are_packed_and_unpacked_by_their_stretches) {
  bool seen_equal = false, seen_mixed = false;
  for (std::int64_t round = 0; round < rounds(150); ++round) {
    Random random(seed_of(round));
    const Vec lengths = random_lengths(random, random.in(2, 120));
    const RandomType list = list_of(lengths, random_places(random, lengths, any_order(random)));
    if (const auto* blocks = std::get_if<Blocks>(&list.layout.root().form)) {
      for (const Stretch& s : blocks->stretches) (s.equal ? seen_equal : seen_mixed) = true;
    }
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n" << list.layout.to_string());
    check_type_by_all(list, random.in(1, 2), random);
    if (HasFatalFailure()) return;
  }
  EXPECT_TRUE(seen_equal);
  EXPECT_TRUE(seen_mixed);
}

/// What is asked for ahead where a list is longer than the caches is not what is copied.
TEST(Lists, beyond_the_caches_are_packed_and_unpacked) {
  Random random(seed_of(0));
  Vec lengths(34000);
  for (std::int64_t& n : lengths) n = random.one_in(500) ? random.in(129, 400) : random.in(1, 128);
  const RandomType list = list_of(lengths, random_places(random, lengths, Order::ascending));
  const auto* blocks = std::get_if<Blocks>(&list.layout.root().form);
  ASSERT_NE(blocks, nullptr);
  ASSERT_EQ(blocks->stretches.back().bytes, kFromMemory);
  SCOPED_TRACE(testing::Message() << "seed " << seed_of(0));
  check_type_by_all(list, 1, random);
}

/// The same lengths at other places, the same places, and lengths of which some were exchanged.
TEST(Lists, are_transferred_in_step_and_out_of_step) {
  for (std::int64_t round = 0; round < rounds(200); ++round) {
    Random random(seed_of(round));
    // Now and then longer than what is compared at once.
    const Vec lengths = random_lengths(random, random.one_in(12) ? 1200 : random.in(2, 120));
    const RandomType src = list_of(lengths, random_places(random, lengths, any_order(random)));
    RandomType dst = src;
    if (!random.one_in(4)) {
      Vec others = lengths;
      for (std::int64_t swaps = random.in(0, 3); swaps > 0; --swaps)
        std::swap(others[random.in(0, static_cast<std::int64_t>(others.size()) - 1)],
                  others[random.in(0, static_cast<std::int64_t>(others.size()) - 1)]);
      dst = list_of(others, random_places(random, others, any_order(random)));
    }
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n"
                                    << src.layout.to_string() << "\nto " << dst.layout.to_string());
    check_transfer(src, random.in(1, 3), dst, random.in(1, 3), random);
    if (HasFatalFailure()) return;
  }
}

/// Lists of equal blocks and rows of them, of unlike counts, so that each ends within the other.
TEST(Lists, of_equal_blocks_are_transferred_to_any_equal_blocks) {
  static constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 48, 64, 80, 600, 9000};
  for (std::int64_t round = 0; round < rounds(300); ++round) {
    Random random(seed_of(round));
    const std::int64_t bytes = kSizes[random.in(0, std::size(kSizes) - 1)];
    const std::int64_t most = bytes > 100 ? 6 : 80;
    auto side = [&]() -> RandomType {
      const std::int64_t n = random.in(2, most);
      if (random.one_in(3)) {
        const std::int64_t stride = bytes + random.in(-bytes / 2, 40);
        return {must(Layout::strided(n, stride, Layout::bytes(bytes))),
                naive::vector(n, 1, stride, naive::run(bytes)), "strided"};
      }
      const Vec lengths(static_cast<std::size_t>(n), bytes);
      return list_of(lengths, random_places(random, lengths, any_order(random)));
    };
    const RandomType src = side(), dst = side();
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n"
                                    << src.layout.to_string() << "\nto " << dst.layout.to_string());
    check_transfer(src, random.in(1, 4), dst, random.in(1, 4), random);
    if (HasFatalFailure()) return;
  }
}

/// Parts that are lists, rows, and nests of both, paired with parts of the same and of other sizes.
TEST(Lists, inside_other_types_are_transferred_in_step) {
  for (std::int64_t round = 0; round < rounds(200); ++round) {
    Random random(seed_of(round));
    const std::int64_t parts = random.in(1, 4);
    std::vector<Vec> lengths;
    Vec rows, row_bytes;
    for (std::int64_t p = 0; p < parts; ++p) {
      lengths.push_back(random_lengths(random, random.in(34, 60)));
      rows.push_back(random.in(34, 50));  // more runs than a record has
      row_bytes.push_back(random.in(1, 40));
    }
    const std::int64_t copies = random.in(1, 3);
    auto side = [&](bool other) {
      RandomType all{Layout(), {}, "parts"};
      Vec counts, places;
      std::vector<Layout> children;
      std::int64_t at = 0;
      auto add = [&](const RandomType& part, std::int64_t n) {
        counts.push_back(n);
        places.push_back(at);
        children.push_back(part.layout);
        naive::append_blocks(
            all.typemap, 1, n, [&](std::int64_t) { return at; }, part.typemap);
        at += n * part.typemap.extent() + random.in(0, 50) + 1000;
      };
      const bool reversed = other && random.one_in(3);  // as many bytes in all, in other parts
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        const std::size_t p = reversed ? lengths.size() - 1 - i : i;
        Vec mine = lengths[p];
        if (other && random.one_in(4)) std::swap(mine.front(), mine.back());
        add(list_of(mine, random_places(random, mine, random.one_in(2) ? Order::ascending : Order::shuffled)),
            copies);
        const std::int64_t stride = row_bytes[p] + random.in(1, 30);
        add({must(Layout::strided(rows[p], stride, Layout::bytes(row_bytes[p]))),
             naive::vector(rows[p], 1, stride, naive::run(row_bytes[p])), "row"},
            1);
      }
      all.layout = must(Layout::composite(counts, places, children));
      const std::int64_t n = random.one_in(2) ? 1 : 2, stride = all.typemap.extent() + random.in(0, 9);
      return RandomType{must(Layout::strided(n, stride, all.layout)),
                        naive::vector(n, 1, stride, all.typemap), "copies of parts"};
    };
    const RandomType src = side(false), dst = side(true);
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n"
                                    << src.layout.to_string() << "\nto " << dst.layout.to_string());
    check_transfer(src, random.in(1, 2), dst, random.in(1, 2), random);
    if (HasFatalFailure()) return;
  }
}

/// Elements of many runs at irregular places, too many for a record: pair by pair, or as many bytes in unlike
/// elements.
TEST(Lists, of_rows_are_transferred_in_step) {
  for (std::int64_t round = 0; round < rounds(100); ++round) {
    Random random(seed_of(round));
    const std::int64_t bytes = random.in(1, 20), all = 72 * random.in(4, 9);
    auto side = [&] {
      const std::int64_t n = random.one_in(3) ? 6 : 4, runs = all / n;  // as many bytes in all
      const std::int64_t stride = bytes + random.in(1, 9);
      const naive::Typemap row = naive::vector(runs, 1, stride, naive::run(bytes));
      const Layout element = must(Layout::strided(runs, stride, Layout::bytes(bytes)));
      const Vec lengths(static_cast<std::size_t>(n), row.extent());
      const Vec places = random_places(random, lengths, Order::shuffled);
      RandomType type{must(Layout::indexed_block(1, places, element)), {}, "rows"};
      for (const std::int64_t at : places) type.typemap.append(row, at);
      return type;
    };
    const RandomType src = side(), dst = side();
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n"
                                    << src.layout.to_string() << "\nto " << dst.layout.to_string());
    check_transfer(src, random.in(1, 3), dst, random.in(1, 3), random);
    if (HasFatalFailure()) return;
  }
}

/// Lists with offsets of 64 bits on one side, the other, or both, in memory of which only touched pages
/// exist.
TEST(Lists, that_span_more_than_32_bits_are_transferred_like_others) {
  constexpr std::int64_t kSpan = std::int64_t{5} << 30;
  auto map = [] {
    return mmap(nullptr, kSpan, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  };
  void *source = map(), *sink = map();
  if (source == MAP_FAILED || sink == MAP_FAILED) GTEST_SKIP() << "10 GiB of addresses are not to be had";
  auto list = [](const Vec& lengths, bool wide) {
    Vec places;
    std::int64_t at = 8;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      places.push_back(at);
      at += lengths[i] + 5 + static_cast<std::int64_t>(i * i % 11);
      if (wide && i == lengths.size() / 2) at += kSpan - (std::int64_t{1} << 20);
    }
    return must(Layout::indexed(lengths, places, Layout::bytes(1)));
  };
  Vec mixed(60, 12), exchanged;
  for (std::size_t i = 20; i < 60; i += 3) mixed[i] = static_cast<std::int64_t>(i) * 3;
  exchanged = mixed;
  std::swap(exchanged[23], exchanged[50]);
  const Vec equal(60, 24);
  std::vector<std::pair<Layout, Layout>> pairs;
  for (const bool from_wide : {false, true})
    for (const bool to_wide : {false, true}) {
      pairs.emplace_back(list(mixed, from_wide), list(mixed, to_wide));
      pairs.emplace_back(list(mixed, from_wide), list(exchanged, to_wide));
      pairs.emplace_back(list(equal, from_wide), list(equal, to_wide));
    }
  const Layout row = must(Layout::strided(60, 31, Layout::bytes(24)));
  pairs.emplace_back(list(equal, true), row);
  pairs.emplace_back(row, list(equal, true));
  for (const auto& [from, to] : pairs) {
    SCOPED_TRACE(from.to_string() + " to " + to.to_string());
    const std::int64_t n = from.size();
    for (const Kernels& k : all_tables())
      for (const std::int64_t offset : {std::int64_t{0}, n / 3}) {
        const std::int64_t length = n - 2 * offset;
        std::vector<std::byte> in(static_cast<std::size_t>(n)), out(in.size());
        for (std::size_t i = 0; i < in.size(); ++i)
          in[i] = static_cast<std::byte>(i * 13 + static_cast<std::size_t>(k.name[0] + offset));
        unpack_by(k, range_of(from, source, 1, 0, n), in.data());
        unpack_by(k, range_of(to, sink, 1, 0, n), out.data());
        const std::int64_t bounced =
            transfer_by(k, range_of(from, source, 1, offset, length), range_of(to, sink, 1, offset, length));
        // Equal blocks are copied from list to list even where the two lists have offsets of two widths.
        const bool lengths = std::holds_alternative<Blocks>(from.root().form);
        ASSERT_TRUE(lengths || bounced == 0) << k.name;
        std::fill_n(in.begin(), offset, std::byte{0});
        std::fill(in.begin() + offset + length, in.end(), std::byte{0});
        pack_by(k, range_of(to, sink, 1, 0, n), out.data());
        ASSERT_EQ(in, out) << k.name;
      }
  }
  munmap(source, kSpan);
  munmap(sink, kSpan);
}

}  // namespace
}  // namespace stria::datatype
