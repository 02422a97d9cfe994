// The wire form: exact round trips, golden bytes, and input from a peer that means harm.
#include "datatype/descriptor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datatype/pack.hpp"
#include "tests/datatype/check_pack.hpp"
#include "tests/datatype/check_transfer.hpp"

namespace stria::datatype {
namespace {

using Bytes = std::vector<std::byte>;
using Vec = std::vector<std::int64_t>;
using testing::HasSubstr;

Bytes bytes(std::initializer_list<int> values) {
  Bytes out;
  for (const int v : values) out.push_back(static_cast<std::byte>(v));
  return out;
}

std::string refusal(const Bytes& descriptor, const DescriptorLimits& limits = {}) {
  const Result<Layout> decoded = decode(descriptor, limits);
  if (decoded) return "accepted: " + decoded->to_string();
  EXPECT_EQ(decoded.error().status, Status::invalid);
  return decoded.error().context;
}

TEST(Descriptor, round_trips_random_types_exactly) {
  for (std::int64_t round = 0; round < rounds(20000); ++round) {
    Random random(seed_of(round));
    const RandomType type = random_type(random, static_cast<int>(random.in(0, 4)), 1000);
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n" << type.how);
    const Bytes wire = encode(type.layout);
    const Result<Layout> back = decode(wire);
    ASSERT_TRUE(back.has_value()) << back.error().context;
    ASSERT_TRUE(*back == type.layout) << back->to_string() << " and " << type.layout.to_string();
    ASSERT_EQ(back->has_explicit_bounds(), type.layout.has_explicit_bounds());
    ASSERT_EQ(back->block_count(), type.layout.block_count());
    ASSERT_EQ(encode(*back), wire);
  }
}

TEST(Descriptor, has_these_bytes_on_the_wire) {
  EXPECT_EQ(encode(Layout()), bytes({1, 0, 0, 0, 0, 0, 0}));
  const Layout column = must(Layout::strided(512, 4096, Layout::bytes(8)));
  // origin 0, lb 0, extent 511 * 4096 + 8 = 2093064 (zigzag 4186128), strided 512 by 4096 (zigzag 8192) of
  // block 8
  EXPECT_EQ(encode(column), bytes({1, 0, 0, 0, 0x90, 0xc0, 0xff, 0x01, 1, 0x80, 4, 0x80, 0x40, 0, 8}));
  const Layout list =
      must(Layout::resized(must(Layout::indexed_block(1, Vec{4, 40, 12, 99}, Layout::bytes(4))), -1, 200));
  EXPECT_EQ(encode(list), bytes({1, 1, 8, 1, 0x90, 3, 2, 4, 72, 55, 0xae, 1, 0, 4}));
  const Layout runs = must(Layout::indexed(Vec{3, 5}, Vec{0, 9}, Layout::bytes(1)));
  EXPECT_EQ(encode(runs), bytes({1, 0, 0, 0, 28, 3, 2, 18, 3, 5}));
  const Layout parts = must(Layout::composite(
      Vec{1, 1}, Vec{0, 1000},
      std::vector<Layout>{must(Layout::strided(9, 16, Layout::bytes(2))), Layout::bytes(1)}));
  EXPECT_EQ(encode(parts), bytes({1, 0, 0, 0, 0xd2, 15, 4, 2, 0xd0, 15, 1, 9, 32, 0, 2, 0, 1}));
}

TEST(Descriptor, of_regular_memory_is_a_few_bytes_however_much_it_is) {
  Layout box = Layout::bytes(8);
  for (int dimension = 0; dimension < 5; ++dimension)
    box = must(Layout::strided(1000, box.extent() * 2, box));
  EXPECT_LE(encode(box).size(), 70U);
}

TEST(Descriptor, is_written_only_up_to_the_length_asked_for) {
  for (std::int64_t round = 0; round < rounds(500); ++round) {
    Random random(seed_of(round));
    const RandomType type = random_type(random, 3, 300);
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n" << type.how);
    const Bytes wire = encode(type.layout);
    ASSERT_EQ(encode(type.layout, wire.size()), wire);
    for (const std::size_t most : {std::size_t{0}, wire.size() / 2, wire.size() - 1})
      ASSERT_EQ(encode(type.layout, most), std::nullopt) << most << " of " << wire.size() << " bytes";
  }
}

TEST(Descriptor, of_a_tree_whose_parts_are_shared_is_given_up_at_the_limit) {
  // Two copies of two copies of ...: 40 nodes, and 2^40 leaves in the descriptor, which would never end.
  const auto twice = [](const NodePtr& node) {
    Composite c;
    c.displacements = {0, node->true_ub + 3};
    c.children = {node, node};
    EXPECT_TRUE(fill_starts(c));
    return make_node(std::move(c));
  };
  NodePtr root = make_node(Block{1});
  for (int level = 0; level < 40; ++level) root = twice(root);
  const std::int64_t extent = root->true_ub;
  const Layout layout = must(Layout::from_parts(0, std::move(root), 0, extent, false));
  EXPECT_EQ(encode(layout, 4088), std::nullopt);
  // Long lists end there, too: here 20000 lists of 2000 blocks.
  Random random(seed_of(0));
  const auto irregular = [&](std::int64_t bytes) {
    Vec at{0};
    for (int i = 1; i < 2000; ++i) at.push_back(at.back() + bytes + random.in(1, 30));
    return must(Layout::indexed_block(bytes, at, Layout::bytes(1)));
  };
  const Layout lists[] = {irregular(1), irregular(2)};
  Vec at;
  std::vector<Layout> children;
  for (std::size_t i = 0; i < 20000; ++i) {
    at.push_back(static_cast<std::int64_t>(i) * 100000 + random.in(0, 50));
    children.push_back(lists[i % 2]);
  }
  const Layout many = must(Layout::composite(Vec(at.size(), 1), at, children));
  EXPECT_EQ(encode(many, 4088), std::nullopt);
}

TEST(Descriptor, refuses_every_shortened_and_every_lengthened_one) {
  for (std::int64_t round = 0; round < rounds(300); ++round) {
    Random random(seed_of(round));
    const RandomType type = random_type(random, 3, 300);
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n" << type.how);
    Bytes wire = encode(type.layout);
    for (std::size_t n = 0; n < wire.size(); ++n)
      ASSERT_FALSE(decode(std::span(wire).first(n)).has_value()) << n << " of " << wire.size() << " bytes";
    wire.push_back(std::byte{0});
    ASSERT_THAT(refusal(wire), HasSubstr(type.layout.size() > 0 ? "1 bytes follow its end" : "empty"));
  }
}

TEST(Descriptor, says_why_it_refuses) {
  EXPECT_THAT(refusal({}), HasSubstr("ends early"));
  EXPECT_THAT(refusal(bytes({2, 0, 0, 0, 0, 0, 0})), HasSubstr("version 2 is not 1"));
  EXPECT_THAT(refusal(bytes({1, 2, 0, 0, 0, 0, 8})), HasSubstr("unknown flags"));
  EXPECT_THAT(refusal(bytes({1, 0, 2, 0, 0, 0, 0})), HasSubstr("no bytes have an origin"));
  EXPECT_THAT(refusal(bytes({1, 0, 0, 0, 0, 9, 8})), HasSubstr("unknown kind of node"));
  EXPECT_THAT(refusal(bytes({1, 0, 0, 0, 0, 0, 0x88, 0})), HasSubstr("shortest form"));
  EXPECT_THAT(refusal(bytes({1, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2})),
              HasSubstr("leaves 64 bits"));
  EXPECT_THAT(refusal(bytes({1, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})),
              HasSubstr("leaves 63 bits"));
  EXPECT_THAT(refusal(bytes({1, 0, 0, 0, 0, 1, 1, 0, 0, 8})), HasSubstr("fewer than 2"));
  EXPECT_THAT(refusal(bytes({1, 0, 0, 0, 0, 1, 2, 32, 0, 0})), HasSubstr("empty"));
  EXPECT_THAT(refusal(bytes({1, 0, 0, 0, 0, 3, 2, 32, 0, 1})), HasSubstr("empty"));
  // Claims of 2^40 entries in a few bytes take no memory.
  for (const int tag : {2, 3, 4})
    EXPECT_THAT(refusal(bytes({1, 0, 0, 0, 0, tag, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0, 0, 0})),
                HasSubstr("impossible length"));
  // 2^62 x 4 bytes, and 2^33 elements 2^31 apart.
  EXPECT_THAT(
      refusal(bytes({1, 0, 0, 0, 0, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0, 0, 4})),
      HasSubstr("size or bound leaves 64 bits"));
  EXPECT_THAT(
      refusal(bytes({1, 0, 0, 0, 0, 1, 0x80, 0x80, 0x80, 0x80, 0x20, 0x80, 0x80, 0x80, 0x80, 0x10, 0, 4})),
      HasSubstr("size or bound leaves 64 bits"));
  // lb 2^62 and extent 2^62.
  EXPECT_THAT(refusal(bytes({1,    1,    0,    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1,
                             0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1,    0,    8})),
              HasSubstr("leaves 64 bits"));
}

TEST(Descriptor, refuses_nesting_without_end) {
  // Composites of one byte and a composite ...: a level costs 5 bytes, a long input would be a deep
  // recursion.
  Bytes wire = bytes({1, 0, 0, 0, 0});
  for (int i = 0; i < 1000000; ++i)
    for (const int v : {4, 2, 2, 0, 1}) wire.push_back(static_cast<std::byte>(v));
  EXPECT_THAT(refusal(wire), HasSubstr("nested too deeply"));
}

/// A composite of `parts` of these bytes each, all at one place.
Bytes composite_of(std::size_t parts, const Bytes& part) {
  Bytes wire = bytes({1, 0, 0, 0, 0, 4});
  wire.push_back(static_cast<std::byte>((parts & 0x7f) | 0x80));
  wire.push_back(static_cast<std::byte>(parts >> 7));
  wire.resize(wire.size() + parts - 1);
  for (std::size_t i = 0; i < parts; ++i) wire.insert(wire.end(), part.begin(), part.end());
  return wire;
}

TEST(Descriptor, takes_memory_in_proportion_to_its_length) {
  const Bytes parts[] = {
      bytes({0, 1}),                           // a block
      bytes({1, 2, 4, 0, 1}),                  // two blocks, a record each
      bytes({1, 2, 64, 1, 31, 4, 0, 1}),       // two records of 31 moves
      bytes({1, 2, 64, 4, 2, 2, 0, 1, 0, 1}),  // composites
      bytes({1, 2, 64, 3, 3, 4, 4, 1, 1, 1}),  // lists
      bytes({4, 2, 2, 4, 2, 2, 0, 1, 0, 1, 0, 1}),
  };
  const DescriptorLimits limits;
  for (const Bytes& part : parts) {
    const Bytes wire = composite_of(4000 / (part.size() + 1), part);
    const Result<Layout> layout = decode(wire, limits);
    ASSERT_TRUE(layout) << layout.error().context;
    EXPECT_LE(memory_of(layout->root()), kDecodedPerByte * wire.size() + limits.max_record_bytes +
                                             sizeof(Record) +
                                             static_cast<std::size_t>(kRecordMoves) * sizeof(Move));
  }
}

TEST(Descriptor, without_room_for_records_gives_the_same_layout) {
  DescriptorLimits none;
  none.max_record_bytes = 0;
  for (std::int64_t round = 0; round < rounds(500); ++round) {
    Random random(seed_of(round));
    const RandomType type = random_type(random, static_cast<int>(random.in(1, 4)), 1000);
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n" << type.how);
    const Result<Layout> walked = decode(encode(type.layout), none);
    ASSERT_TRUE(walked) << walked.error().context;
    ASSERT_TRUE(*walked == type.layout);
    ASSERT_EQ(walked->root().record, nullptr);
    ASSERT_EQ(decode(encode(type.layout))->root().record != nullptr, type.layout.root().record != nullptr);
    check_type({*walked, type.typemap, type.how}, random.in(1, 3), random);
    check_transfer(type, 2, {*walked, type.typemap, type.how}, 2, random);
    if (HasFatalFailure()) return;
  }
}

TEST(Descriptor, keeps_to_the_limits_of_the_caller) {
  const Bytes wire = encode(must(Layout::strided(1000, 16, Layout::bytes(8))));
  DescriptorLimits limits;
  limits.max_packed_bytes = 7999;
  EXPECT_THAT(refusal(wire, limits), HasSubstr("size 8000 > 7999"));
  limits = {};
  limits.max_descriptor_bytes = wire.size() - 1;
  EXPECT_THAT(refusal(wire, limits), HasSubstr("length"));
}

/// A decoded layout must be safe to use: sane bounds, and every run it lists within its reach.
void use(const Layout& layout) {
  ASSERT_GE(layout.size(), 0);
  ASSERT_LE(layout.true_lb(), layout.true_ub());
  ASSERT_FALSE(layout.to_string().empty());
  const auto reach = layout.reach(3);
  if (!reach || reach->bytes == 0) return;
  for (const std::int64_t offset : {std::int64_t{0}, reach->bytes / 2, reach->bytes - 1}) {
    struct iovec out[4];
    std::int64_t covered = 0;
    const std::size_t n =
        iovecs(range_of(layout, nullptr, 3, offset, reach->bytes - offset), out, 4, &covered);
    ASSERT_GE(n, 1U);
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out[i].iov_base));
      ASSERT_GE(at, reach->low);
      ASSERT_LE(at, reach->high);
      ASSERT_LE(static_cast<std::int64_t>(out[i].iov_len), reach->high - at);
    }
  }
}

TEST(Descriptor, of_endless_runs_that_touch_is_listed_in_bounded_time) {
  // No layout of ours: 2^41 blocks of 8 bytes, 8 bytes apart, and records whose runs touch.
  for (const Bytes& wire :
       {bytes({1, 0, 0, 0, 0, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 16, 0, 8}),
        bytes({1, 0, 0, 0, 0, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 20, 3, 2, 8, 4, 6})}) {
    const Result<Layout> layout = decode(wire);
    ASSERT_TRUE(layout) << layout.error().context;
    struct iovec out[4];
    std::int64_t covered = 0;
    const std::int64_t total = layout->size();
    ASSERT_EQ(iovecs(range_of(*layout, nullptr, 1, 0, total), out, 4, &covered), 1U);
    EXPECT_GT(covered, 1 << 16);
    EXPECT_LT(covered, std::int64_t{1} << 24);
    EXPECT_EQ(out[0].iov_len, static_cast<std::size_t>(covered));
    use(*layout);
  }
}

TEST(Descriptor, mutated_ones_are_refused_or_safe_and_encode_to_themselves) {
  std::int64_t accepted = 0, refused = 0;
  for (std::int64_t round = 0; round < rounds(60000); ++round) {
    Random random(seed_of(round));
    const RandomType type = random_type(random, static_cast<int>(random.in(0, 4)), 400);
    Bytes wire = encode(type.layout);
    for (std::int64_t n = random.in(1, 4); n > 0 && !wire.empty(); --n) {
      const auto at = static_cast<std::ptrdiff_t>(random.in(0, static_cast<std::int64_t>(wire.size()) - 1));
      switch (random.in(0, 4)) {
        case 0:
          wire[static_cast<std::size_t>(at)] ^= static_cast<std::byte>(1 << random.in(0, 7));
          break;
        case 1:
          wire[static_cast<std::size_t>(at)] = static_cast<std::byte>(random.in(0, 255));
          break;
        case 2:
          wire.erase(wire.begin() + at);
          break;
        case 3:
          wire.insert(wire.begin() + at, static_cast<std::byte>(random.one_in(2) ? 0xff : random.in(0, 5)));
          break;
        default:
          wire.insert(wire.begin() + at, wire.begin(), wire.begin() + at);
          break;
      }
    }
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n" << type.how);
    const Result<Layout> decoded = decode(wire);
    (decoded ? accepted : refused) += 1;
    if (!decoded) continue;
    ASSERT_EQ(encode(*decoded), wire);
    use(*decoded);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(accepted, 100) << "mutations should now and then give another valid layout";
  EXPECT_GT(refused, accepted);
}

}  // namespace
}  // namespace stria::datatype
