// The forms that adapters take: each describes exactly the runs of the layout, or is refused by name and
// number.
#include "hw/descriptor_encoders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datatype/pack.hpp"
#include "tests/datatype/random_type.hpp"

namespace stria::hw {
namespace {

using datatype::Layout;
using datatype::must;
using testing::HasSubstr;
using Vec = std::vector<std::int64_t>;
using Addresses = std::vector<std::uint64_t>;

constexpr std::uint64_t kBase = std::uint64_t{1} << 40;

/// The address of every byte in stream order.
Addresses bytes_of(const Interleaved& form) {
  Addresses out;
  for (std::uint64_t i = 0; i < form.repeat; ++i)
    for (const InterleavedEntry& e : form.entries)
      for (std::uint64_t b = 0; b < e.bytes; ++b) out.push_back(e.address + i * e.stride + b);
  return out;
}
Addresses bytes_of(const std::vector<SgEntry>& list) {
  Addresses out;
  for (const SgEntry& e : list)
    for (std::uint64_t b = 0; b < e.bytes; ++b) out.push_back(e.address + b);
  return out;
}
Addresses bytes_of(const BlockList& list) {
  Addresses out;
  std::uint64_t offset = list.first_offset;
  for (const std::uint64_t block : list.blocks) {
    for (; offset < std::uint64_t{1} << list.block_log2 && out.size() < list.bytes; ++offset)
      out.push_back(block + offset);
    offset = 0;
  }
  return out;
}

TEST(DescriptorEncoders, give_the_bytes_of_random_types_or_refuse) {
  std::int64_t interleaved = 0, lists = 0, blocks = 0;
  const std::int64_t n = datatype::rounds(5000);
  for (std::int64_t round = 0; round < n; ++round) {
    datatype::Random random(datatype::seed_of(round));
    const auto type = datatype::random_type(random, static_cast<int>(random.in(1, 3)), 600);
    SCOPED_TRACE(testing::Message() << "seed " << datatype::seed_of(round) << "\n" << type.how);
    const std::int64_t count = random.in(1, 4);
    Addresses expected;
    for (const std::int64_t b : datatype::naive::instances(count, type.typemap).bytes)
      expected.push_back(kBase + static_cast<std::uint64_t>(b));
    if (const auto form = encode_interleaved(type.layout, count, kBase, {.entries = 8})) {
      ASSERT_EQ(bytes_of(*form), expected);
      ++interleaved;
    }
    if (const auto form = encode_sg(type.layout, count, kBase, {.entries = 64})) {
      ASSERT_EQ(bytes_of(*form), expected);
      ++lists;
    }
    if (const auto form =
            encode_block_list(type.layout, count, kBase, {.entries = 600, .smallest_log2 = 0})) {
      ASSERT_EQ(bytes_of(*form), expected);
      ++blocks;
    }
  }
  EXPECT_GT(interleaved, n / 3);
  EXPECT_GT(lists, n / 2);
  EXPECT_GT(blocks, n / 2);
}

TEST(DescriptorEncoders, a_field_of_16_bits_refuses_what_it_cannot_hold) {
  const InterleavedLimits limits{.entries = 4};
  const Layout d = Layout::bytes(8);
  EXPECT_TRUE(encode_interleaved(must(Layout::strided(100, 65535, d)), 1, 0, limits));
  const auto wide = encode_interleaved(must(Layout::strided(100, 70000, d)), 1, 0, limits);
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.error().status, Status::unsupported);
  EXPECT_THAT(wide.error().context, HasSubstr("stride 70000 > 65535"));
  const auto thick =
      encode_interleaved(must(Layout::strided(2, 65535, Layout::bytes(65536))), 1, 0, {.entries = 4});
  EXPECT_THAT(thick.error().context, HasSubstr("bytes of an entry 65536 > 65535"));
  const auto many = encode_interleaved(must(Layout::strided(std::int64_t{1} << 32, 16, d)), 1, 0, limits);
  EXPECT_THAT(many.error().context, HasSubstr("repeat count 4294967296 > 4294967295"));
  const auto back = encode_interleaved(must(Layout::strided(3, -16, d)), 1, 0, limits);
  EXPECT_THAT(back.error().context, HasSubstr("stride -16 < 0"));
  // The same column by another way: as a list it fits.
  EXPECT_TRUE(encode_sg(must(Layout::strided(100, 70000, d)), 1, 0, {.entries = 100}));
  EXPECT_THAT(encode_sg(must(Layout::strided(101, 70000, d)), 1, 0, {.entries = 100}).error().context,
              HasSubstr("more than 100 entries"));
  EXPECT_THAT(encode_sg(Layout::bytes(std::int64_t{1} << 32), 1, 0, {.entries = 1}).error().context,
              HasSubstr("4294967296 > 4294967295"));
}

TEST(DescriptorEncoders, an_array_of_structs_has_an_entry_for_each_run) {
  const Layout parts = must(
      Layout::composite(Vec{1, 1}, Vec{0, 16}, std::vector<Layout>{Layout::bytes(12), Layout::bytes(1)}));
  const Layout record = must(Layout::resized(parts, 0, 24));
  const auto form = encode_interleaved(record, 1000, kBase, {.entries = 4});
  ASSERT_TRUE(form) << form.error().context;
  EXPECT_EQ(form->repeat, 1000u);
  ASSERT_EQ(form->entries.size(), 2u);
  EXPECT_EQ(form->entries[1].address, kBase + 16);
  EXPECT_EQ(form->entries[1].bytes, 1u);
  EXPECT_EQ(form->entries[1].stride, 24u);
  EXPECT_THAT(encode_interleaved(record, 1000, kBase, {.entries = 1}).error().context,
              HasSubstr("2 entries > 1"));
  EXPECT_THAT(encode_interleaved(record, 1000, kBase, {}).error().context, HasSubstr("no such form"));
  const Layout apart = must(Layout::resized(parts, 0, 100000));
  const auto one = encode_interleaved(apart, 1, kBase, {.entries = 4});
  ASSERT_TRUE(one) << one.error().context << ": of one element no stride is used";
  EXPECT_EQ(one->entries[1].address, kBase + 16);
  EXPECT_FALSE(encode_interleaved(apart, 2, kBase, {.entries = 4}));
}

TEST(DescriptorEncoders, a_block_list_takes_the_largest_block_that_all_seams_allow) {
  // Three runs of 8 KiB, 64 KiB apart; the first begins and the last ends inside a page.
  const Layout runs =
      must(Layout::indexed(Vec{8192 - 100, 8192, 5000}, Vec{100, 65536, 131072}, Layout::bytes(1)));
  const auto form = encode_block_list(runs, 1, kBase, {.entries = 8});
  ASSERT_TRUE(form) << form.error().context;
  EXPECT_EQ(form->block_log2, 13u);
  EXPECT_EQ(form->first_offset, 100u);
  EXPECT_EQ(form->blocks, (Addresses{kBase, kBase + 65536, kBase + 131072}));
  const Layout column = must(Layout::strided(4, 8192, Layout::bytes(8)));
  EXPECT_THAT(encode_block_list(column, 1, kBase, {.entries = 8}).error().context,
              HasSubstr("smallest block 2^12"));
}

}  // namespace
}  // namespace stria::hw
