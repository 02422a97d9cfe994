// transfer between pairs of types against naive pack and unpack.
#include <gtest/gtest.h>

#include "datatype/kernels/kernels.hpp"
#include "datatype/pack.hpp"
#include "tests/datatype/random_type.hpp"

namespace stria::datatype {
namespace {

void check_transfer(const RandomType& src, std::int64_t src_count, const RandomType& dst,
                    std::int64_t dst_count, Random& random) {
  const naive::Typemap from = naive::instances(src_count, src.typemap);
  const naive::Typemap to = naive::instances(dst_count, dst.typemap);
  const auto from_bytes = static_cast<std::int64_t>(from.bytes.size());
  const auto to_bytes = static_cast<std::int64_t>(to.bytes.size());
  TestMemory source(from), sink(to, 50);
  const TestMemory before = sink;

  const std::int64_t length =
      random.one_in(2) ? std::min(from_bytes, to_bytes) : random.in(0, std::min(from_bytes, to_bytes));
  TestMemory expected = before;
  for (std::int64_t i = 0; i < length; ++i)
    expected.at(to.bytes[static_cast<std::size_t>(i)]) = source.at(from.bytes[static_cast<std::size_t>(i)]);
  for (const Kernels* k : runnable_kernels()) {
    sink = before;
    transfer_range_by(*k, src.layout, source.base(), src_count, 0, dst.layout, sink.base(), dst_count, 0,
                      length);
    ASSERT_TRUE(sink == expected) << k->name << ", " << length << " bytes from the start";
  }

  // Half of the ranges are whole blocks of 2, 3, 4, 6, 8, 12 and 24 bytes, for the paths that need them.
  const std::int64_t grain = random.one_in(2) ? 24 : 1;
  const std::int64_t src_offset = random.in(0, from_bytes / grain) * grain;
  const std::int64_t dst_offset = random.in(0, to_bytes / grain) * grain;
  const std::int64_t n =
      random.in(0, std::min(from_bytes - src_offset, to_bytes - dst_offset) / grain) * grain;
  sink = before;
  expected = before;
  for (std::int64_t i = 0; i < n; ++i)
    expected.at(to.bytes[static_cast<std::size_t>(dst_offset + i)]) =
        source.at(from.bytes[static_cast<std::size_t>(src_offset + i)]);
  transfer_range(src.layout, source.base(), src_count, src_offset, dst.layout, sink.base(), dst_count,
                 dst_offset, n);
  ASSERT_TRUE(sink == expected) << n << " bytes from " << src_offset << " to " << dst_offset;
}

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

}  // namespace
}  // namespace stria::datatype
