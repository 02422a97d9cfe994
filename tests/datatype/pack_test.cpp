// pack, unpack and iovecs against the naive typemap walk, on random types.
#include "datatype/pack.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "tests/datatype/check_pack.hpp"

namespace stria::datatype {
namespace {

/// iovecs over a random range, `max` at a time, against the naive list of maximal runs.
void check_iovecs(const RandomType& type, std::int64_t count, Random& random) {
  const naive::Typemap all = naive::instances(count, type.typemap);
  const auto total = static_cast<std::int64_t>(all.bytes.size());
  TestMemory memory(all);
  const std::int64_t from = random.in(0, total), to = random.in(from, total);
  const auto max = static_cast<std::size_t>(random.in(1, 5));
  std::int64_t at = from;
  while (at < to) {
    struct iovec out[5];
    std::int64_t covered = -1;
    const std::size_t n =
        iovecs(range_of(type.layout, memory.base(), count, at, to - at), out, max, &covered);
    ASSERT_GE(n, 1U);
    ASSERT_LE(n, max);
    ASSERT_GT(covered, 0);
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t b = 0; b < out[i].iov_len; ++b, ++seen)
        ASSERT_EQ(static_cast<std::byte*>(out[i].iov_base) + b,
                  memory.base() + all.bytes[static_cast<std::size_t>(at + seen)]);
      if (i > 0) {
        ASSERT_NE(static_cast<std::byte*>(out[i - 1].iov_base) + out[i - 1].iov_len, out[i].iov_base)
            << "neighbours are merged";
      }
    }
    ASSERT_EQ(seen, covered);
    if (at + covered < to) {
      ASSERT_EQ(n, max) << "it stops only when the list is full";
    }
    at += covered;
  }
  ASSERT_EQ(at, to);
}

TEST(Pack, gives_the_bytes_of_the_typemap_for_random_types) {
  for (std::int64_t round = 0; round < rounds(30000); ++round) {
    Random random(seed_of(round));
    const RandomType type = random_type(random, static_cast<int>(random.in(1, 4)), 2000);
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n"
                                    << type.how << "\n"
                                    << type.layout.to_string());
    check_type(type, random.in(0, 3), random);
    check_iovecs(type, random.in(0, 3), random);
    if (HasFatalFailure()) return;
  }
}

TEST(Pack, gives_the_bytes_of_the_typemap_for_types_too_large_to_write_out) {
  for (std::int64_t round = 0; round < rounds(60); ++round) {
    Random random(seed_of(round));
    // An array of random types, repeated often enough that whole children are kept.
    RandomType inner = random_type(random, 3, 600);
    const std::int64_t n = random.in(40, 400);
    const std::int64_t stride = inner.typemap.extent() + (random.one_in(2) ? 0 : random.in(0, 24));
    RandomType array{must(Layout::strided(n, stride, inner.layout)),
                     naive::vector(n, 1, stride, inner.typemap), "array of " + inner.how};
    const RandomType other = random_type(random, 2, 300);
    const std::vector<std::int64_t> counts{1, 2, 1};
    const std::vector<std::int64_t> at{random.in(-50, 50), array.typemap.true_ub(), -700};
    const std::vector<Layout> children{array.layout, other.layout, array.layout};
    RandomType both{must(Layout::composite(counts, at, children)),
                    {},
                    "struct of twice " + array.how + " and " + other.how};
    naive::append_blocks(
        both.typemap, 1, 1, [&](std::int64_t) { return at[0]; }, array.typemap);
    naive::append_blocks(
        both.typemap, 1, 2, [&](std::int64_t) { return at[1]; }, other.typemap);
    naive::append_blocks(
        both.typemap, 1, 1, [&](std::int64_t) { return at[2]; }, array.typemap);
    for (const RandomType& type : {array, both}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n"
                                      << type.how << "\n"
                                      << type.layout.to_string());
      EXPECT_EQ(type.layout.lb(), type.typemap.lb());
      EXPECT_EQ(type.layout.ub(), type.typemap.ub());
      check_type(type, random.in(1, 2), random);
      check_iovecs(type, 1, random);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Pack, handles_every_small_block_size) {
  for (std::int64_t bytes = 1; bytes <= 130; ++bytes) {
    for (const std::int64_t stride : {bytes + 1, bytes * 3, -(bytes + 5)}) {
      Random random(seed_of(bytes));
      const RandomType type{must(Layout::strided(11, stride, Layout::bytes(bytes))),
                            naive::vector(11, 1, stride, naive::run(bytes)), "strided"};
      SCOPED_TRACE(testing::Message() << bytes << " bytes, stride " << stride);
      check_type_by_all(type, 2, random);
    }
  }
}

/// Long enough for every vector loop, its remainder and its neighbours.
TEST(Pack, handles_arrays_of_small_records_of_every_shape) {
  for (std::int64_t round = 0; round < rounds(500); ++round) {
    Random random(seed_of(round));
    // Up to five runs in an element of up to 40 bytes; elements apart, touching, or interleaved like columns.
    const std::int64_t runs = random.in(1, 5);
    std::vector<std::int64_t> lens, at;
    std::int64_t place = 0;
    for (std::int64_t i = 0; i < runs; ++i) {
      place += random.one_in(4) ? 0 : random.in(1, random.one_in(4) ? 300 : 9);
      at.push_back(place);
      lens.push_back(random.in(1, random.one_in(5) ? 90 : 9));
      place += lens.back();
    }
    if (random.one_in(3)) std::shuffle(at.begin(), at.end(), random.engine());
    naive::Typemap t;
    for (std::size_t i = 0; i < at.size(); ++i)
      naive::append_blocks(
          t, 1, lens[i], [&](std::int64_t) { return at[i]; }, naive::run(1));
    const RandomType element{must(Layout::indexed(lens, at, Layout::bytes(1))), t, "element"};
    const std::int64_t stride = random.one_in(4) ? random.in(-40, 40) : place + random.in(0, 20);
    const std::int64_t n = random.in(1, 150);
    const RandomType array{must(Layout::strided(n, stride, element.layout)),
                           naive::vector(n, 1, stride, element.typemap), "array"};
    const RandomType resized{must(Layout::resized(element.layout, 0, stride)),
                             naive::resized(element.typemap, 0, stride), "resized"};
    // The same elements at irregular places, ascending without overlap or anyhow.
    std::vector<std::int64_t> places;
    naive::Typemap listed;
    std::int64_t where = 0;
    const bool ascending = random.one_in(2);
    for (std::int64_t i = 0; i < n; ++i) {
      places.push_back(where);
      listed.append(element.typemap, where);
      where = ascending ? where + place + random.in(0, 30) : random.in(-2000, 2000);
    }
    const RandomType list{must(Layout::indexed_block(1, places, element.layout)), listed, "list"};
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n" << array.layout.to_string());
    check_type_by_all(array, random.in(1, 2), random);
    check_type_by_all(resized, n, random);
    check_type_by_all(list, 1, random);
    if (HasFatalFailure()) return;
  }
}

/// Distances whose lines crowd in few sets of the cache have loops of their own, by count and direction.
TEST(Pack, handles_columns_whose_lines_crowd_in_the_cache) {
  for (std::int64_t round = 0; round < rounds(60); ++round) {
    Random random(seed_of(round));
    static constexpr std::int64_t kStrides[] = {512, 1024, 1536, 2048, 3072, 4096, 6144, 8192};
    static constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 20, 32, 48, 64, 100, 256, 384};
    const std::int64_t stride = kStrides[random.in(0, std::size(kStrides) - 1)] * (random.one_in(3) ? -1 : 1);
    const std::int64_t bytes = kSizes[random.in(0, std::size(kSizes) - 1)];
    const std::int64_t n = random.in(1, random.one_in(2) ? 20 : 150);
    const RandomType type{must(Layout::strided(n, stride, Layout::bytes(bytes))),
                          naive::vector(n, 1, stride, naive::run(bytes)), "strided"};
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n" << type.layout.to_string());
    check_type_by_all(type, 1, random);
    if (HasFatalFailure()) return;
  }
}

/// Blocks of whole lines, which only aligned memory has, take the way past the cache.
TEST(Pack, writes_whole_lines_past_the_cache) {
  Kernels k = *runnable_kernels().back();
  k.nontemporal_from = 1;
  alignas(64) static std::array<std::byte, 40000> memory;
  alignas(64) static std::array<std::byte, 40000> stream, expected;
  for (const std::int64_t bytes : {64, 128, 192, 256, 512, 1000}) {
    for (const std::int64_t gap : {0, 64, 320, 16}) {
      const std::int64_t n = 30, stride = bytes + gap;
      const Layout layout = must(Layout::strided(n, stride, Layout::bytes(bytes)));
      for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 31 >> 3);
      for (std::int64_t i = 0; i < n; ++i)
        std::copy_n(memory.begin() + i * stride, bytes, expected.begin() + i * bytes);
      stream.fill(std::byte{0xee});
      pack_by(k, range_of(layout, memory.data(), 1, 0, n * bytes), stream.data());
      ASSERT_TRUE(std::equal(stream.begin(), stream.begin() + n * bytes, expected.begin()))
          << layout.to_string();
      ASSERT_EQ(stream[static_cast<std::size_t>(n * bytes)], std::byte{0xee});
      const auto before = memory;
      memory.fill(std::byte{0xaa});
      unpack_by(k, range_of(layout, memory.data(), 1, 0, n * bytes), stream.data());
      for (std::int64_t i = 0; i < n * stride; ++i) {
        const bool inside = i % stride < bytes;
        const auto at = static_cast<std::size_t>(i);
        ASSERT_EQ(memory[at], inside ? before[at] : std::byte{0xaa}) << layout.to_string() << " byte " << i;
      }
    }
  }
}

TEST(Pack, handles_two_loops_in_every_order_and_size) {
  for (std::int64_t round = 0; round < rounds(250); ++round) {
    Random random(seed_of(round));
    static constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 5, 8, 8, 8, 8, 12, 16, 24, 32, 40, 64, 80};
    const std::int64_t bytes = kSizes[random.in(0, std::size(kSizes) - 1)];
    const std::int64_t outer = random.in(2, random.one_in(3) ? 140 : 20);
    const std::int64_t inner = random.in(2, random.one_in(3) ? 140 : 20);
    // Rows of columns, columns of rows, both with gaps or without, backwards, and loops that overlap.
    std::int64_t near = random.one_in(3) ? bytes + random.in(0, 9) : bytes, far = 0, o = 0, i = 0;
    if (random.one_in(2)) {
      far = near * outer + (random.one_in(2) ? 0 : random.in(0, 100));
      o = near, i = far;
    } else {
      far = near * inner + (random.one_in(2) ? 0 : random.in(0, 100));
      o = far, i = near;
    }
    if (random.one_in(8)) o = -o;
    if (random.one_in(8)) i = -i;
    if (random.one_in(10)) o = random.in(-100, 100);
    const naive::Typemap row = naive::vector(inner, 1, i, naive::run(bytes));
    const RandomType type{
        must(Layout::strided(outer, o, must(Layout::strided(inner, i, Layout::bytes(bytes))))),
        naive::vector(outer, 1, o, row), "nest"};
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n" << type.layout.to_string());
    check_type_by_all(type, 1, random);
    if (HasFatalFailure()) return;
  }
}

/// Lists whose offsets need 64 bits, in memory of which only the pages touched exist.
TEST(Pack, handles_lists_that_span_more_than_32_bits) {
  constexpr std::int64_t kSpan = std::int64_t{6} << 30;
  void* mapped =
      mmap(nullptr, kSpan, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) GTEST_SKIP() << "6 GiB of addresses are not to be had";
  auto* memory = static_cast<std::byte*>(mapped);
  const std::vector<std::int64_t> at{100, kSpan - 4000, 5, kSpan / 2, kSpan / 2 + 70, 3000};
  const Layout pair = must(
      Layout::indexed(std::vector<std::int64_t>{3, 5}, std::vector<std::int64_t>{0, 20}, Layout::bytes(1)));
  const Layout layouts[] = {
      must(Layout::indexed_block(1, at, Layout::bytes(8))),
      must(Layout::indexed(std::vector<std::int64_t>{1, 70, 3, 8, 200, 16}, at, Layout::bytes(1))),
      must(Layout::indexed_block(1, at, pair))};
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(layout.to_string());
    const auto* indexed = std::get_if<Indexed>(&layout.root().form);
    const auto* blocks = std::get_if<Blocks>(&layout.root().form);
    ASSERT_TRUE(indexed != nullptr || blocks != nullptr);
    EXPECT_FALSE((indexed != nullptr ? indexed->displacements : blocks->displacements).is_narrow());
    const auto n = static_cast<std::size_t>(layout.size());
    std::vector<struct iovec> runs(64);
    std::int64_t covered = 0;
    runs.resize(iovecs(range_of(layout, memory, 1, 0, layout.size()), runs.data(), runs.size(), &covered));
    ASSERT_EQ(covered, layout.size());
    for (const Kernels& k : all_tables()) {
      std::vector<std::byte> in(n), out(n), expected;
      for (std::size_t i = 0; i < n; ++i)
        in[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(k.name[0]));
      unpack_by(k, range_of(layout, memory, 1, 0, layout.size()), in.data());
      for (const struct iovec& run : runs) {
        const auto* bytes = static_cast<const std::byte*>(run.iov_base);
        expected.insert(expected.end(), bytes, bytes + run.iov_len);
      }
      ASSERT_EQ(expected, in) << k.name;
      pack_by(k, range_of(layout, memory, 1, 3, layout.size() - 4), out.data());
      ASSERT_TRUE(std::equal(in.begin() + 3, in.end() - 1, out.begin())) << k.name;
    }
  }
  munmap(mapped, kSpan);
}

TEST(Offsets, take_32_bits_where_all_fit_and_are_the_same_numbers) {
  const std::vector<std::int64_t> small{0, INT32_MAX, INT32_MIN, -1},
      large{0, std::int64_t{INT32_MAX} + 1, -5};
  const Offsets a(small), b(large);
  EXPECT_TRUE(a.is_narrow());
  EXPECT_EQ(a.bytes(), 16U);
  EXPECT_FALSE(b.is_narrow());
  EXPECT_EQ(b.bytes(), 24U);
  for (std::size_t i = 0; i < small.size(); ++i) EXPECT_EQ(a[i], small[i]);
  for (std::size_t i = 0; i < large.size(); ++i) EXPECT_EQ(b[i], large[i]);
  const auto [c, d] = Offsets::pair(small, large);
  EXPECT_FALSE(c.is_narrow());
  EXPECT_FALSE(d.is_narrow());
}

TEST(Pack, takes_one_instance_whatever_the_distance_to_the_next) {
  for (const std::int64_t extent : {INT64_MAX, INT64_MIN, INT64_MAX / 3, std::int64_t{0}}) {
    for (const std::int64_t hole : {0, 4, 100}) {
      Random random(seed_of(hole));
      const RandomType parts{must(Layout::indexed(std::vector<std::int64_t>{3, 5},
                                                  std::vector<std::int64_t>{0, 3 + hole}, Layout::bytes(1))),
                             naive::Typemap{}, "parts"};
      RandomType type{must(Layout::resized(parts.layout, 0, extent)), naive::Typemap{}, "resized"};
      for (const std::int64_t b : {0, 1, 2}) type.typemap.bytes.push_back(b);
      for (const std::int64_t b : {0, 1, 2, 3, 4}) type.typemap.bytes.push_back(3 + hole + b);
      check_type_by_all(type, 1, random);
    }
  }
}

TEST(Pack, takes_absolute_displacements_from_a_null_base) {
  std::vector<double> a(10), b(10);
  std::iota(a.begin(), a.end(), 0.0);
  std::iota(b.begin(), b.end(), 100.0);
  const std::vector<std::int64_t> at{reinterpret_cast<std::intptr_t>(b.data()),
                                     reinterpret_cast<std::intptr_t>(a.data())};
  const Layout layout = must(Layout::indexed(std::vector<std::int64_t>{2, 3}, at, Layout::bytes(8)));
  std::vector<double> out(5);
  pack(range_of(layout, nullptr, 1, 0, 40), out.data());
  EXPECT_EQ(out, (std::vector<double>{100, 101, 0, 1, 2}));
}

TEST(Pack, seeks_in_a_stream_of_2_to_the_55_bytes_without_walking) {
  // No such memory exists; iovecs touch none.
  const std::int64_t rows = std::int64_t{1} << 26, columns = std::int64_t{1} << 26;
  const Layout column = must(Layout::strided(rows, 64, Layout::bytes(8)));
  const Layout matrix = must(Layout::strided(columns, std::int64_t{1} << 34, column));
  ASSERT_EQ(matrix.size(), std::int64_t{1} << 55);
  for (const std::int64_t element : {std::int64_t{0}, rows * 7 + 3, rows * columns - 2}) {
    struct iovec out[1];
    std::int64_t covered = 0;
    ASSERT_EQ(iovecs(range_of(matrix, nullptr, 1, element * 8 + 5, 9), out, 1, &covered), 1U);
    EXPECT_EQ(covered, 3);
    EXPECT_EQ(out[0].iov_len, 3U);
    EXPECT_EQ(reinterpret_cast<std::intptr_t>(out[0].iov_base),
              element / rows * (std::int64_t{1} << 34) + element % rows * 64 + 5);
  }
}

TEST(Pack, brings_the_stream_over_in_pieces_of_any_size) {
  for (std::int64_t round = 0; round < rounds(3000); ++round) {
    Random random(seed_of(round));
    const RandomType type = random_type(random, 3, 800);
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n" << type.how);
    const naive::Typemap all = naive::instances(2, type.typemap);
    if (all.overlaps()) continue;
    TestMemory from(all), to(all, 99);
    TestMemory expected = to;
    for (const std::int64_t b : all.bytes) expected.at(b) = from.at(b);
    const std::int64_t bytes = 2 * type.layout.size();
    std::byte buffer[64];
    for (std::int64_t offset = 0, length = 0; offset < bytes; offset += length) {
      length = std::min(bytes - offset, random.in(1, 64));
      pack(range_of(type.layout, from.base(), 2, offset, length), buffer);
      unpack(range_of(type.layout, to.base(), 2, offset, length), buffer);
    }
    ASSERT_TRUE(to == expected);
  }
}

}  // namespace
}  // namespace stria::datatype
