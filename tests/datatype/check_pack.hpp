// pack and unpack of one type against the naive typemap walk, by every table of kernels.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "datatype/pack.hpp"
#include "tests/datatype/random_type.hpp"
#include "tests/datatype/tables.hpp"

namespace stria::datatype {

inline std::vector<std::byte> naive_pack(TestMemory& memory, const naive::Typemap& all) {
  std::vector<std::byte> out;
  for (const std::int64_t b : all.bytes) out.push_back(memory.at(b));
  return out;
}

/// Everything that must hold for `count` instances of one type, by one table of kernels.
inline void check_type_by(const Kernels& k, const RandomType& type, std::int64_t count, Random& random) {
  SCOPED_TRACE(k.name);
  const naive::Typemap all = naive::instances(count, type.typemap);
  const auto total = static_cast<std::int64_t>(all.bytes.size());
  ASSERT_EQ(type.layout.size() * count, total);
  const auto reach = type.layout.reach(count);
  ASSERT_TRUE(reach.has_value());
  EXPECT_EQ(reach->low, all.true_lb());
  EXPECT_EQ(reach->high, all.true_ub());
  EXPECT_EQ(reach->bytes, total);

  TestMemory memory(all);
  const TestMemory before = memory;
  const std::vector<std::byte> stream = naive_pack(memory, all);

  std::vector<std::byte> packed(stream.size(), std::byte{0xee});
  pack_by(k, range_of(type.layout, memory.base(), count, 0, total), packed.data());
  ASSERT_EQ(packed, stream);

  const auto fragments = random_fragments(random, total);
  std::fill(packed.begin(), packed.end(), std::byte{0xee});
  for (const auto& [at, n] : fragments) {
    // An exact buffer of its own, so that a sanitizer sees a write beyond the fragment.
    std::vector<std::byte> piece(static_cast<std::size_t>(n));
    pack_by(k, range_of(type.layout, memory.base(), count, at, n), piece.data());
    std::copy(piece.begin(), piece.end(), packed.begin() + at);
  }
  ASSERT_EQ(packed, stream);
  ASSERT_TRUE(memory == before) << "packing changed the memory";

  std::vector<std::byte> incoming(stream.size());
  for (std::byte& b : incoming) b = static_cast<std::byte>(random.in(0, 255));
  TestMemory expected = memory;
  for (std::size_t i = 0; i < incoming.size(); ++i) expected.at(all.bytes[i]) = incoming[i];
  unpack_by(k, range_of(type.layout, memory.base(), count, 0, total), incoming.data());
  ASSERT_TRUE(memory == expected);
  if (!all.overlaps()) {
    memory = before;
    for (const auto& [at, n] : fragments) {
      const std::vector<std::byte> piece(incoming.begin() + at, incoming.begin() + at + n);
      unpack_by(k, range_of(type.layout, memory.base(), count, at, n), piece.data());
    }
    ASSERT_TRUE(memory == expected);
  }
}

/// By one table after the other; all of them for what is checked once.
inline void check_type(const RandomType& type, std::int64_t count, Random& random) {
  static const std::vector<Kernels> tables = all_tables();
  const auto chosen = static_cast<std::size_t>(random.in(0, static_cast<std::int64_t>(tables.size()) - 1));
  check_type_by(tables[chosen], type, count, random);
}
inline void check_type_by_all(const RandomType& type, std::int64_t count, Random& random) {
  for (const Kernels& k : all_tables()) check_type_by(k, type, count, random);
}

}  // namespace stria::datatype
