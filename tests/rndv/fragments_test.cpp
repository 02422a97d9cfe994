// How long fragments and pieces are.
#include "rndv/cost_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/cache_line.hpp"

namespace stria::rndv {
namespace {

constexpr std::uint64_t kLengths[] = {1, 100, 4096, 65536, 1u << 20, 1ull << 40, ~0ull};
constexpr std::uint32_t kBlocks[] = {0, 1, 8, 4096, 0x7fffffff, ~0u};

TEST(Fragments, the_senders_part_is_about_half_in_whole_pieces) {
  for (const std::uint64_t length : {1ull, 65535ull, 65536ull, 131073ull, 200000ull, 1ull << 20,
                                     (1ull << 20) + 1, 3000000ull, 1ull << 40, ~0ull}) {
    const std::uint32_t piece = piece_of({.length = length});
    const std::uint64_t part = senders_part(length, piece);
    EXPECT_EQ(piece % 64, 0u) << length;
    EXPECT_GE(piece, 1024u) << length;
    EXPECT_LE(piece, 524288u) << length;
    EXPECT_EQ(part % piece, 0u) << length;
    EXPECT_LE(part, length / 2) << length;
    EXPECT_EQ(part == 0, length < 2048) << length;
    if (length >= 2048) {
      EXPECT_GE(static_cast<double>(part), 0.4 * static_cast<double>(length)) << length;
    }
  }
}

TEST(Fragments, fragments_are_within_their_bounds_and_finer_where_packing_is_slow) {
  for (const std::uint64_t length : kLengths)
    for (const std::uint32_t source : kBlocks)
      for (const std::uint32_t sink : kBlocks)
        for (const std::uint32_t most : {1024u, 1500u, 16384u, 1u << 30}) {
          MessageFacts facts;
          facts.length = length;
          facts.source_block = source;
          facts.sink_block = sink;
          const std::uint32_t fragment = fragment_for(facts, most, 1u << 20);
          ASSERT_GE(fragment, std::min(1024u, most)) << length;
          ASSERT_LE(fragment, most) << length;
          ASSERT_TRUE(fragment % 512 == 0 || fragment == most) << fragment;
        }
  MessageFacts column;
  column.length = 64 << 10;
  column.source_block = 8;
  MessageFacts rows = column;
  rows.source_block = 4096;
  EXPECT_LT(fragment_for(column, 1u << 20, 1u << 20), fragment_for(rows, 1u << 20, 1u << 20));
}

TEST(Fragments, fragments_are_long_where_they_are_read_while_they_are_written_and_that_costs_nothing) {
  constexpr std::uint32_t kMost = 32768, kLongest = 131072;
  MessageFacts facts;
  facts.length = 1 << 20;
  EXPECT_LE(fragment_for(facts, kMost, kLongest), kMost);
  facts.grows = true;
  EXPECT_EQ(fragment_for(facts, kMost, kLongest), kLongest);
  EXPECT_EQ(fragment_for(facts, kMost, kMost / 2), kMost) << "a link with short cells cuts them itself";
  EXPECT_EQ(fragment_for(facts, kMost, 2 * kLongest), kLongest) << "one side waits for the other's half";
  facts.source_block = facts.sink_block = 1024;
  EXPECT_EQ(fragment_for(facts, kMost, kLongest), kLongest);
  MessageFacts shorter = facts;
  shorter.length = 4 * kLongest;
  EXPECT_EQ(fragment_for(shorter, kMost, kLongest), std::max(kMost, kLongest / 2)) << "eight, packed whole";
  shorter.source_block = 4096;
  EXPECT_EQ(fragment_for(shorter, kMost, kLongest), kLongest) << "read while they are written";
  for (std::uint32_t MessageFacts::*side : {&MessageFacts::source_block, &MessageFacts::sink_block}) {
    MessageFacts small = facts;
    small.*side = 512;
    EXPECT_LE(fragment_for(small, kMost, kLongest), kMost) << "packed faster at once";
  }
  facts.far = true;
  EXPECT_LE(fragment_for(facts, kMost, kLongest), kMost);
  facts.flows = true;
  EXPECT_LE(fragment_for(facts, kMost, kLongest), kMost) << "blocks of 1 KiB are packed past the caches";
  facts.source_block = 0;
  EXPECT_EQ(fragment_for(facts, kMost, kLongest), kLongest);
}

TEST(Fragments, fragments_of_a_turned_matrix_hold_as_many_columns_as_they_can_of_four) {
  constexpr std::uint32_t kMost = 32768, kLongest = 131072;
  MessageFacts facts;
  facts.length = 1 << 20;
  facts.source_block = 8;
  facts.turned = true;
  for (const bool far : {false, true}) {
    facts.far = far;
    EXPECT_EQ(fragment_for(facts, kMost, kLongest), kLongest) << far;
    EXPECT_EQ(fragment_for(facts, kMost, kMost / 2), kMost) << "a link with short cells cuts them itself";
    MessageFacts shorter = facts;
    shorter.length = 3 * kLongest;
    EXPECT_EQ(fragment_for(shorter, kMost, kLongest), kLongest / 2) << "both sides work at the same time";
  }
  facts.turned = false;
  EXPECT_LE(fragment_for(facts, kMost, kLongest), kMost);
}

TEST(Fragments, fragments_that_are_not_packed_are_as_long_as_the_model_wants_and_the_link_takes) {
  constexpr std::uint32_t kMost = 32768, kEager = 16384;
  MessageFacts facts;
  facts.length = 8 << 20;
  EXPECT_EQ(fragment_on_link(facts, kMost, kEager, 0), fragment_for(facts, kMost, kEager));
  EXPECT_EQ(fragment_on_link(facts, kMost, kEager, 65536), fragment_for(facts, 65536, 65536));
  EXPECT_GT(fragment_on_link(facts, kMost, kEager, 1 << 20), kMost);
  EXPECT_LE(fragment_on_link(facts, kMost, kEager, 1 << 20), Parameters{}.longest_fragment);
  EXPECT_LE(fragment_on_link(facts, kMost, kEager, 4096), kMost);
  facts.source_block = 512;
  EXPECT_LE(fragment_on_link(facts, kMost, kEager, 1 << 20), kMost) << "blocks that are packed";
}

TEST(Fragments, long_fragments_end_with_a_cache_line) {
  MessageFacts turned, grown;
  turned.length = grown.length = 4 << 20;
  turned.source_block = 8;
  turned.turned = true;
  grown.grows = true;
  for (const MessageFacts& facts : {turned, grown})
    for (std::uint32_t longest = 1u << 16; longest < 1u << 19; longest += 24) {
      const std::uint32_t fragment = fragment_for(facts, 1u << 15, longest);
      ASSERT_LE(fragment, longest);
      ASSERT_EQ(fragment % kCacheLine, 0u) << fragment << " of " << longest;
    }
}

}  // namespace
}  // namespace stria::rndv
