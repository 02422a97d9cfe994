// transfer between pairs of types against naive pack and unpack.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace stria::datatype
