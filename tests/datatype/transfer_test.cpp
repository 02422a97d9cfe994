// transfer between pairs of types against naive pack and unpack.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/datatype/check_transfer.hpp"

namespace stria::datatype {
namespace {

TEST(Transfer, moves_the_stream_between_random_pairs) {
  for (std::int64_t round = 0; round < rounds(20000); ++round) {
    Random random(seed_of(round));
    const RandomType src = random_type(random, static_cast<int>(random.in(0, 4)), 2000);
    RandomType dst = random_type(random, static_cast<int>(random.in(0, 4)), 2000);
    while (naive::instances(3, dst.typemap).overlaps()) dst = random_type(random, 2, 2000);
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\nfrom " << src.how << "\nto "
                                    << dst.how);
    check_transfer(src, random.in(0, 3), dst, random.in(0, 3), random);
    if (HasFatalFailure()) return;
  }
}

TEST(Transfer, transposes_and_crosses_the_bounce_buffer) {
  // Columns, rows of long runs, and unlike blocks, each larger than the buffer on the stack.
  auto strided = [](std::int64_t n, std::int64_t stride, std::int64_t bytes) {
    return RandomType{must(Layout::strided(n, stride, Layout::bytes(bytes))),
                      naive::vector(n, 1, stride, naive::run(bytes)), "strided"};
  };
  const std::vector<RandomType> types{strided(6000, 40, 8),     strided(6000, -24, 8),
                                      strided(4000, 13, 12),    strided(48, 1400, 1000),
                                      strided(1, 48000, 48000), strided(16000, 5, 3)};
  std::vector<std::pair<RandomType, RandomType>> pairs;
  for (const RandomType& src : types)
    for (const RandomType& dst : types) pairs.emplace_back(src, dst);
  Random random(seed_of(0));
  for (int round = 0; round < 4; ++round)
    for (const auto& [src, dst] : pairs) {
      SCOPED_TRACE(src.layout.to_string() + " to " + dst.layout.to_string());
      check_transfer(src, 1, dst, 1, random);
      if (HasFatalFailure()) return;
    }
}

/// Two loops on both sides: rows to rows, rows to columns, with gaps, in blocks of one side's runs or the
/// other's.
TEST(Transfer, moves_rows_and_columns_to_rows_and_columns) {
  for (std::int64_t round = 0; round < rounds(600); ++round) {
    Random random(seed_of(round));
    static constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 8, 8, 8, 16, 24, 32, 80};
    const std::int64_t bytes = kSizes[random.in(0, std::size(kSizes) - 1)];
    const std::int64_t outer = random.in(2, random.one_in(3) ? 90 : 12);
    const std::int64_t inner = random.in(2, random.one_in(3) ? 90 : 12);
    auto side = [&]() -> RandomType {
      const std::int64_t gap = random.one_in(2) ? 0 : random.in(1, 40);
      const std::int64_t near = bytes + (random.one_in(3) ? random.in(0, 20) : 0);
      if (random.one_in(4)) {  // whole rows as runs, or one run
        const naive::Typemap row = naive::run(inner * bytes);
        const std::int64_t stride = inner * bytes + gap;
        return {must(Layout::strided(outer, stride, Layout::bytes(inner * bytes))),
                naive::vector(outer, 1, stride, row), "runs"};
      }
      const bool turned = random.one_in(2);
      const std::int64_t far = near * (turned ? outer : inner) + gap;
      const std::int64_t o = turned ? near : far, i = turned ? far : near;
      return {must(Layout::strided(outer, o, must(Layout::strided(inner, i, Layout::bytes(bytes))))),
              naive::vector(outer, 1, o, naive::vector(inner, 1, i, naive::run(bytes))),
              turned ? "turned" : "rows"};
    };
    const RandomType src = side(), dst = side();
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n"
                                    << src.layout.to_string() << " to " << dst.layout.to_string());
    check_transfer(src, random.in(1, 2), dst, random.in(1, 2), random);
    if (HasFatalFailure()) return;
  }
}

/// What most programs do: both processes name the same type, though not always as many of it. Their runs
/// correspond one to one, so no byte needs a buffer.
TEST(Transfer, is_direct_between_equal_types) {
  for (std::int64_t round = 0; round < rounds(4000); ++round) {
    Random random(seed_of(round));
    RandomType type = random_type(random, static_cast<int>(random.in(1, 4)), 2000);
    while (naive::instances(3, type.typemap).overlaps()) type = random_type(random, 2, 2000);
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n" << type.how);
    check_transfer(type, random.in(1, 3), type, random.in(1, 3), random, Way::direct);
    if (HasFatalFailure()) return;
  }
}

/// Written past the cache: short runs out of the buffer, long ones, and the rows of a turned matrix, at once.
TEST(Transfer, goes_through_the_buffer_to_short_runs_of_a_large_destination) {
  Kernels k = *runnable_kernels().back();
  auto bounced = [&k](const Layout& src, const Layout& dst, std::int64_t offset, std::int64_t length) {
    alignas(64) static std::array<std::byte, 300000> from, to;
    return transfer_by(k, range_of(src, from.data(), 1, offset, length),
                       range_of(dst, to.data(), 1, offset, length));
  };
  auto blocks = [](std::int64_t n, std::int64_t bytes, std::int64_t gap) {
    return must(Layout::strided(n, bytes + gap, Layout::bytes(bytes)));
  };
  const Layout large = blocks(1000, 64, 64), larger = blocks(70, 1000, 24), long_runs = blocks(30, 2048, 8);
  const Layout doubles = blocks(8000, 8, 8);
  const Layout columns = must(Layout::strided(40, 64, blocks(40, 64, 64 * 39)));
  k.nontemporal_from = 64000;
  EXPECT_EQ(bounced(large, large, 0, 64000), 64000);
  EXPECT_EQ(bounced(larger, large, 640, 200), 200) << "a part of it";
  EXPECT_EQ(bounced(doubles, larger, 0, 64000), 64000);
  EXPECT_EQ(bounced(larger, doubles, 0, 64000), 0) << "no whole lines in there";
  EXPECT_EQ(bounced(long_runs, larger, 0, 61440), 0);
  EXPECT_EQ(bounced(larger, long_runs, 0, 61440), 0);
  EXPECT_EQ(bounced(columns, blocks(40, 2560, 64), 0, 102400), 0) << "by tiles";
  k.nontemporal_from = 64001;
  EXPECT_EQ(bounced(large, large, 0, 64000), 0) << "fits the cache";
}

/// Fields of these sizes in this order, with gaps between some, and before the first.
RandomType record_of(Random& random, const std::vector<std::int64_t>& sizes, std::int64_t widest) {
  auto gap = [&] { return random.one_in(3) ? 0 : random.in(0, widest); };
  std::vector<std::int64_t> places;
  std::vector<Layout> fields;
  RandomType type{Layout(), {}, "record"};
  std::int64_t at = 0;
  for (const std::int64_t n : sizes) {
    at += gap();
    places.push_back(at);
    fields.push_back(Layout::bytes(n));
    type.typemap.append(naive::run(n), at);
    at += n;
  }
  const std::int64_t lb = random.in(-20, -1);
  // Now and then they overlap or interleave.
  const std::int64_t extent = random.one_in(6) ? random.in(1, at) : at + gap() - lb;
  const std::vector<std::int64_t> ones(sizes.size(), 1);
  type.layout = must(Layout::resized(must(Layout::composite(ones, places, fields)), lb, extent));
  type.typemap = naive::resized(type.typemap, lb, extent);
  return type;
}
RandomType strided_of(const RandomType& child, std::int64_t n, std::int64_t gap) {
  const std::int64_t stride = child.typemap.extent() + gap;
  return {must(Layout::strided(n, stride, child.layout)), naive::vector(n, 1, stride, child.typemap),
          "strided of " + child.how};
}

/// What the rows consist of: records, unless these touched and became a list of blocks, or were found to be
/// several smaller ones each.
const Node& element_of(const Layout& layout) {
  const Node* node = &layout.root();
  while (const Strided* s = node->strided()) node = s->child.get();
  return *node;
}

/// Arrays of structs, flat and in rows, against structs of as many bytes: with the same fields or others,
/// with other gaps, so that some are permuted by vectors, some on one side only, some on none.
TEST(Transfer, is_direct_between_arrays_of_records) {
  std::int64_t seen_records = 0;
  for (std::int64_t round = 0; round < rounds(1500); ++round) {
    Random random(seed_of(round));
    std::vector<std::int64_t> sizes;
    for (std::int64_t fields = random.in(1, random.one_in(8) ? 32 : 6); fields > 0; --fields)
      sizes.push_back(random.in(1, random.one_in(4) ? 70 : 12));
    std::vector<std::int64_t> others = sizes;
    if (random.one_in(2)) std::shuffle(others.begin(), others.end(), random.engine());
    const bool rows = random.one_in(2);
    const std::int64_t n = random.one_in(3) ? random.in(33, 300) : random.in(1, 20);
    const std::int64_t row_gap = random.in(0, 30), row_count = random.in(2, 4);
    auto side = [&](const std::vector<std::int64_t>& fields) {
      const RandomType record = record_of(random, fields, random.one_in(2) ? 4 : 60);
      const RandomType row = strided_of(record, n, random.in(0, 9));
      return rows ? strided_of(row, row_count, row_gap) : row;
    };
    const RandomType src = side(sizes), dst = side(others);
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n"
                                    << src.layout.to_string() << " to " << dst.layout.to_string());
    const Node &a = element_of(src.layout), &b = element_of(dst.layout);
    const bool records = a.runs <= kRecordMoves && b.runs <= kRecordMoves && a.size == b.size;
    seen_records += records ? 1 : 0;
    check_transfer(src, random.in(1, 3), dst, random.in(1, 3), random, records ? Way::direct : Way::any);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(seen_records, rounds(1500) / 2);
}

}  // namespace
}  // namespace stria::datatype
