// transfer of one pair of types against the naive typemap walk, by every table of kernels.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "datatype/pack.hpp"
#include "tests/datatype/random_type.hpp"
#include "tests/datatype/tables.hpp"

namespace stria::datatype {

enum class Way { any, direct };

/// All of the shorter stream or the first bytes of it, and a range in the middle: anywhere on both sides, or
/// at the same offset, as a fragment of a message is. `direct`: then no byte may go through a buffer on its
/// way to what fits the cache.
inline void check_transfer(const RandomType& src, std::int64_t src_count, const RandomType& dst,
                           std::int64_t dst_count, Random& random, Way way = Way::any) {
  const naive::Typemap from = naive::instances(src_count, src.typemap);
  const naive::Typemap to = naive::instances(dst_count, dst.typemap);
  const auto from_bytes = static_cast<std::int64_t>(from.bytes.size());
  const auto to_bytes = static_cast<std::int64_t>(to.bytes.size());
  TestMemory source(from), sink(to, 50);
  const TestMemory before = sink;

  auto check = [&](std::int64_t src_offset, std::int64_t dst_offset, std::int64_t length) {
    TestMemory expected = before;
    for (std::int64_t i = 0; i < length; ++i)
      expected.at(to.bytes[static_cast<std::size_t>(dst_offset + i)]) =
          source.at(from.bytes[static_cast<std::size_t>(src_offset + i)]);
    static const std::vector<Kernels> tables = all_tables();
    for (const Kernels& k : tables) {
      sink = before;
      const std::int64_t bounced =
          transfer_by(k, range_of(src.layout, source.base(), src_count, src_offset, length),
                      range_of(dst.layout, sink.base(), dst_count, dst_offset, length));
      ASSERT_TRUE(sink == expected) << k.name << ", " << length << " bytes from " << src_offset << " to "
                                    << dst_offset;
      const bool may_bounce = way == Way::any || src_offset != dst_offset || k.nontemporal_from == 0;
      ASSERT_TRUE(may_bounce || bounced == 0) << k.name << ", " << length << " bytes from " << src_offset;
    }
  };
  const std::int64_t most = std::min(from_bytes, to_bytes);
  check(0, 0, random.one_in(2) ? most : random.in(0, most));
  if (testing::Test::HasFatalFailure()) return;

  // Half of the ranges are whole blocks of 2, 3, 4, 6, 8, 12 and 24 bytes, for the paths that need them.
  const std::int64_t grain = random.one_in(2) ? 24 : 1;
  const std::int64_t src_offset = random.in(0, from_bytes / grain) * grain;
  const std::int64_t dst_offset =
      src_offset <= to_bytes && random.one_in(2) ? src_offset : random.in(0, to_bytes / grain) * grain;
  const std::int64_t left = std::min(from_bytes - src_offset, to_bytes - dst_offset);
  check(src_offset, dst_offset, random.in(0, left / grain) * grain);
}

}  // namespace stria::datatype
