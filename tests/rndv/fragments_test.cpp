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
          Question question;
          question.length = length;
          question.source_block = source;
          question.sink_block = sink;
          const std::uint32_t fragment = fragment_for(question, most, 1u << 20);
          ASSERT_GE(fragment, std::min(1024u, most)) << length;
          ASSERT_LE(fragment, most) << length;
          ASSERT_TRUE(fragment % 512 == 0 || fragment == most) << fragment;
        }
  Question column;
  column.length = 64 << 10;
  column.source_block = 8;
  Question rows = column;
  rows.source_block = 4096;
  EXPECT_LT(fragment_for(column, 1u << 20, 1u << 20), fragment_for(rows, 1u << 20, 1u << 20));
}

TEST(Fragments, fragments_are_long_where_they_are_read_while_they_are_written_and_that_costs_nothing) {
  constexpr std::uint32_t kMost = 32768, kLongest = 131072;
  Question question;
  question.length = 1 << 20;
  EXPECT_LE(fragment_for(question, kMost, kLongest), kMost);
  question.grows = true;
  EXPECT_EQ(fragment_for(question, kMost, kLongest), kLongest);
  EXPECT_EQ(fragment_for(question, kMost, kMost / 2), kMost) << "a link with short cells cuts them itself";
  EXPECT_EQ(fragment_for(question, kMost, 2 * kLongest), kLongest) << "one side waits for the other's half";
  question.source_block = question.sink_block = 1024;
  EXPECT_EQ(fragment_for(question, kMost, kLongest), kLongest);
  Question shorter = question;
  shorter.length = 4 * kLongest;
  EXPECT_EQ(fragment_for(shorter, kMost, kLongest), std::max(kMost, kLongest / 2)) << "eight, packed whole";
  shorter.source_block = 4096;
  EXPECT_EQ(fragment_for(shorter, kMost, kLongest), kLongest) << "read while they are written";
  for (std::uint32_t Question::*side : {&Question::source_block, &Question::sink_block}) {
    Question small = question;
    small.*side = 512;
    EXPECT_LE(fragment_for(small, kMost, kLongest), kMost) << "packed faster at once";
  }
  question.far = true;
  EXPECT_LE(fragment_for(question, kMost, kLongest), kMost);
  question.flows = true;
  EXPECT_LE(fragment_for(question, kMost, kLongest), kMost) << "blocks of 1 KiB are packed past the caches";
  question.source_block = 0;
  EXPECT_EQ(fragment_for(question, kMost, kLongest), kLongest);
}

TEST(Fragments, fragments_of_a_turned_matrix_hold_as_many_columns_as_they_can_of_four) {
  constexpr std::uint32_t kMost = 32768, kLongest = 131072;
  Question question;
  question.length = 1 << 20;
  question.source_block = 8;
  question.turned = true;
  for (const bool far : {false, true}) {
    question.far = far;
    EXPECT_EQ(fragment_for(question, kMost, kLongest), kLongest) << far;
    EXPECT_EQ(fragment_for(question, kMost, kMost / 2), kMost) << "a link with short cells cuts them itself";
    Question shorter = question;
    shorter.length = 3 * kLongest;
    EXPECT_EQ(fragment_for(shorter, kMost, kLongest), kLongest / 2) << "both sides work at the same time";
  }
  question.turned = false;
  EXPECT_LE(fragment_for(question, kMost, kLongest), kMost);
}

TEST(Fragments, fragments_that_are_not_packed_are_as_long_as_the_model_wants_and_the_link_takes) {
  constexpr std::uint32_t kMost = 32768, kEager = 16384;
  Question question;
  question.length = 8 << 20;
  EXPECT_EQ(fragment_on_link(question, kMost, kEager, 0), fragment_for(question, kMost, kEager));
  EXPECT_EQ(fragment_on_link(question, kMost, kEager, 65536), fragment_for(question, 65536, 65536));
  EXPECT_GT(fragment_on_link(question, kMost, kEager, 1 << 20), kMost);
  EXPECT_LE(fragment_on_link(question, kMost, kEager, 1 << 20), Parameters{}.longest_fragment);
  EXPECT_LE(fragment_on_link(question, kMost, kEager, 4096), kMost);
  question.source_block = 512;
  EXPECT_LE(fragment_on_link(question, kMost, kEager, 1 << 20), kMost) << "blocks that are packed";
}

TEST(Fragments, long_fragments_end_with_a_cache_line) {
  Question turned, grown;
  turned.length = grown.length = 4 << 20;
  turned.source_block = 8;
  turned.turned = true;
  grown.grows = true;
  for (const Question& question : {turned, grown})
    for (std::uint32_t longest = 1u << 16; longest < 1u << 19; longest += 24) {
      const std::uint32_t fragment = fragment_for(question, 1u << 15, longest);
      ASSERT_LE(fragment, longest);
      ASSERT_EQ(fragment % kCacheLine, 0u) << fragment << " of " << longest;
    }
}

}  // namespace
}  // namespace stria::rndv
