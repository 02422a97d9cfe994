// The choice of a scheme: what must hold whatever the measured parameters are.
#include "rndv/cost_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string_view>

#include "hw/machine.hpp"
#include "rndv/protocols/list.hpp"
#include "tests/rounds.hpp"

namespace stria::rndv {
namespace {

constexpr std::uint64_t kLengths[] = {1, 100, 4096, 65536, 1u << 20, 1ull << 40, ~0ull};
constexpr std::uint32_t kBlocks[] = {0, 1, 8, 4096, 0x7fffffff, ~0u};

Choice ask(std::uint64_t length, std::uint32_t source, std::uint32_t sink, bool can_get, Force force) {
  MessageFacts facts;
  facts.length = length;
  facts.source_block = source;
  facts.sink_block = sink;
  facts.can_get = can_get;
  facts.force = force;
  return choose(facts);
}

TEST(CostModel, a_message_without_bytes_needs_no_scheme_even_when_one_is_forced) {
  for (const Force force : {Force::automatic, Force::get, Force::both, Force::pipeline})
    for (const bool can_get : {false, true})
      EXPECT_EQ(ask(0, 0, 0, can_get, force).protocol->name, kNothing.name);
}

TEST(CostModel, never_chooses_a_get_that_the_link_cannot_do) {
  for (const std::uint64_t length : kLengths)
    for (const std::uint32_t source : kBlocks)
      for (const std::uint32_t sink : kBlocks)
        for (const Force force : {Force::automatic, Force::get, Force::both, Force::pipeline})
          EXPECT_NE(ask(length, source, sink, false, force).protocol->name, kGet.name);
}

TEST(CostModel, does_what_the_user_forces) {
  for (const std::uint64_t length : kLengths) {
    EXPECT_EQ(ask(length, 1, 1, true, Force::get).protocol->name, kGet.name);
    EXPECT_EQ(ask(length, 0, 0, true, Force::pipeline).protocol->name, kPipeline.name);
  }
}

// One side alone ends an adapter's key, so a receiver may not read what fragments also bring.
TEST(CostModel, what_an_adapter_moves_is_got_without_a_copy_and_never_helped) {
  for (const std::uint64_t length : kLengths) {
    MessageFacts facts;
    facts.length = length;
    facts.can_get = true;
    facts.offload = true;
    const Choice choice = choose(facts);
    EXPECT_EQ(choice.protocol->name, kGet.name) << length;
    EXPECT_FALSE(can_help(facts, choice));
    facts.can_get = false;
    EXPECT_EQ(choose(facts).protocol->name, kPipeline.name);
  }
}

// The sender answers a get itself, so one that is silent does not answer it either.
TEST(CostModel, what_a_network_brings_is_got_whatever_the_blocks_and_never_helped) {
  for (const std::uint64_t length : kLengths)
    for (const std::uint32_t source : kBlocks)
      for (const std::uint32_t sink : kBlocks) {
        MessageFacts facts;
        facts.length = length;
        facts.source_block = source;
        facts.sink_block = sink;
        facts.can_get = true;
        facts.distant = true;
        EXPECT_EQ(choose(facts).protocol->name, kGet.name) << length << ' ' << source << ' ' << sink;
        EXPECT_FALSE(can_help(facts, choose(facts)));
        facts.can_get = false;
        EXPECT_EQ(choose(facts).protocol->name, kPipeline.name);
        EXPECT_FALSE(can_help(facts, choose(facts)));
      }
}

TEST(CostModel, an_adapter_reads_large_blocks_in_place_and_small_ones_are_packed) {
  const std::uint32_t least = least_block_in_place();
  EXPECT_GE(least, 4096u);
  EXPECT_LE(least, 16384u);
  MessageFacts facts;
  facts.length = 1ull << 30;  // so long that the start of either way is nothing
  facts.can_get = facts.offload = true;
  for (const std::uint32_t block : {8u, 1024u, least / 2, least - 100, least + 100, least * 2, 1u << 20}) {
    facts.source_block = block;
    EXPECT_EQ(choose(facts).protocol->name, block < least ? kPipeline.name : kGet.name) << block;
  }
  facts.source_block = 8;
  EXPECT_STREQ(reason_of(facts, choose(facts)), "blocks too small for one work request each");
}

TEST(CostModel, blocks_behind_one_key_are_read_in_place_from_a_fraction_of_that_length_on) {
  const std::uint32_t least = least_block_in_place(true);
  EXPECT_GE(least, 256u);
  EXPECT_LE(least, least_block_in_place() / 8);
  MessageFacts facts;
  facts.length = 1ull << 30;
  facts.can_get = facts.offload = facts.source_gathered = true;
  for (const std::uint32_t block : {8u, least / 2, least - 10, least + 10, 4096u, 1u << 20}) {
    facts.source_block = block;
    EXPECT_EQ(choose(facts).protocol->name, block < least ? kPipeline.name : kGet.name) << block;
  }
}

// Docs: one core that loads and stores is ahead of two until both sides' memory outgrows the caches.
TEST(CostModel, mapped_memory_goes_by_fragments_where_two_near_cores_wait_for_it_side_by_side) {
  for (const std::uint32_t block : {0u, 64u, 1024u, 16384u})
    for (const std::uint64_t mib : {1, 2, 4, 8, 16, 64})
      for (const bool far : {false, true}) {
        MessageFacts facts;
        facts.length = mib << 20;
        facts.source_block = facts.sink_block = block;
        facts.mapped = true;
        facts.far = far;
        const bool loads = block == 0 || far || mib <= 4;
        EXPECT_EQ(choose(facts).protocol->name, loads ? kMapped.name : kPipeline.name)
            << mib << " MiB in blocks of " << block << (far ? ", far" : "");
      }
}

// Docs: what lies in memory that each maps of the other is copied by both cores, but where the way to the
// sender and back takes as long as the half, and where each core has messages of its own to copy.
TEST(CostModel, both_sides_copy_between_mapped_memories) {
  const auto scheme = [](std::uint64_t length, std::uint32_t block, bool sparse, bool far, bool busy) {
    return choose({.length = length,
                   .source_block = block,
                   .sink_block = block,
                   .can_get = true,
                   .can_copy_by_both = true,
                   .source_sparse = sparse,
                   .sink_sparse = sparse,
                   .far = far,
                   .busy = busy,
                   .mapped = true,
                   .sink_mapped = true})
        .protocol->name;
  };
  for (const bool far : {false, true}) {
    for (const std::uint64_t kib : {192, 256, 1024, 4096, 16384}) {
      EXPECT_EQ(scheme(kib << 10, 0, false, far, false), kMappedBoth.name) << kib;
      EXPECT_EQ(scheme(kib << 10, 64, false, far, false), kMappedBoth.name) << kib;
      EXPECT_EQ(scheme(kib << 10, 0, false, far, true), kMapped.name) << kib;
    }
    for (const std::uint64_t rows : {1024, 2048, 4096, 16384})
      EXPECT_EQ(scheme(8 * rows, 8, true, far, false), kMappedBoth.name) << rows << " doubles of a column";
    EXPECT_EQ(scheme(16384, 0, false, far, false), kMapped.name);
  }
}

TEST(CostModel, memory_that_the_sender_cannot_map_is_read_by_the_receiver_alone) {
  MessageFacts facts{.length = 1u << 20, .can_get = true, .can_copy_by_both = true, .mapped = true};
  EXPECT_EQ(choose(facts).protocol->name, kMapped.name);
  facts.sink_mapped = true;
  facts.can_copy_by_both = false;
  EXPECT_EQ(choose(facts).protocol->name, kMapped.name) << "STRIA_RNDV_SHARE=off";
}

TEST(CostModel, pieces_of_mapped_memory_are_for_a_few_microseconds) {
  for (const std::uint64_t length : {4096ull, 65536ull, 196608ull, 1ull << 20, 16ull << 20, 1ull << 40})
    for (const std::uint32_t block : {0u, 8u, 4096u}) {
      const MessageFacts facts{
          .length = length, .source_block = block, .source_sparse = block == 8, .mapped = true};
      const std::uint32_t piece = piece_of(facts);
      EXPECT_GE(piece, 1024u);
      EXPECT_LE(piece, 524288u);
      EXPECT_LE(senders_part(length, piece), length / 2);
      EXPECT_GE(static_cast<double>(senders_part(length, piece)), 0.4 * static_cast<double>(length));
    }
}

TEST(CostModel, both_is_forced_where_both_memories_are_mapped_and_there_are_two_parts) {
  for (const std::uint64_t length : kLengths)
    for (const bool mapped : {false, true})
      for (const bool busy : {false, true}) {
        MessageFacts facts{.length = length, .can_get = true, .can_copy_by_both = true, .force = Force::both};
        facts.busy = busy;
        facts.mapped = facts.sink_mapped = mapped;
        const std::string_view read = mapped ? kMapped.name : kGet.name;
        const bool has_parts = senders_part(length, piece_of(facts)) != 0;
        EXPECT_EQ(choose(facts).protocol->name, mapped && has_parts ? kMappedBoth.name : read) << length;
        facts.self = true;
        EXPECT_EQ(choose(facts).protocol->name, read) << length;
      }
}

TEST(CostModel, predicts_no_less_time_for_more_bytes_and_for_smaller_blocks) {
  for (const std::uint32_t block : {0u, 64u, 4096u}) {
    Choice previous;
    for (std::uint64_t length = 1; length < 1ull << 40; length *= 2) {
      const Choice choice = ask(length, block, 0, true, Force::automatic);
      EXPECT_GE(choice.read_us(), previous.read_us());
      EXPECT_GE(choice.us_of(kPipeline), previous.us_of(kPipeline));
      previous = choice;
    }
  }
  const Choice coarse = ask(1u << 20, 4096, 4096, true, Force::automatic);
  const Choice fine = ask(1u << 20, 16, 16, true, Force::automatic);
  EXPECT_GT(fine.read_us(), coarse.read_us());
  EXPECT_GT(fine.us_of(kPipeline), coarse.us_of(kPipeline));
}

TEST(CostModel, a_choice_is_finite_for_hostile_block_sizes) {
  for (const std::uint64_t length : kLengths)
    for (const std::uint32_t source : kBlocks) {
      const Choice choice = ask(length, source, 1, true, Force::automatic);
      EXPECT_LT(choice.read_us(), 1e30);
      EXPECT_GT(choice.read_us(), 0.0);
      EXPECT_LT(choice.us_of(kPipeline), 1e30);
    }
}

TEST(CostModel, loads_from_mapped_memory_need_no_get_and_are_chosen_wherever_a_get_is) {
  for (const std::uint64_t length : kLengths)
    for (const std::uint32_t source : kBlocks)
      for (const std::uint32_t sink : kBlocks) {
        MessageFacts facts;
        facts.length = length;
        facts.source_block = source;
        facts.sink_block = sink;
        facts.can_get = true;
        const Choice get = choose(facts);
        facts.mapped = true;
        const Choice mapped = choose(facts);
        EXPECT_NE(mapped.protocol->name, kGet.name);
        EXPECT_LT(mapped.read_us(), get.read_us());
        if (get.protocol->name == kGet.name) {
          EXPECT_EQ(mapped.protocol->name, kMapped.name);
        }
        facts.can_get = false;
        EXPECT_EQ(choose(facts).protocol->name, mapped.protocol->name);
        facts.force = Force::get;
        EXPECT_EQ(choose(facts).protocol->name, kMapped.name);
        facts.force = Force::pipeline;
        EXPECT_EQ(choose(facts).protocol->name, kPipeline.name);
      }
  MessageFacts middle;
  middle.length = 32768;
  middle.mapped = true;
  EXPECT_EQ(choose(middle).protocol->name, kMapped.name);
  middle.source_block = middle.sink_block = 8;  // doubles side by side with others
  EXPECT_EQ(choose(middle).protocol->name, kMapped.name);
  middle.source_sparse = true;  // a column into a row
  EXPECT_EQ(choose(middle).protocol->name, kMapped.name);
  middle.sink_sparse = true;  // into a column: two cores wait for their lines at the same time
  EXPECT_EQ(choose(middle).protocol->name, kPipeline.name);
}

TEST(CostModel, packing_is_very_long_when_the_receiver_could_do_much_else_meanwhile) {
  EXPECT_FALSE(packs_very_long(131072, 8, false));
  EXPECT_TRUE(packs_very_long(131072, 7, false));
  EXPECT_FALSE(packs_very_long(16384, 8, true));
  EXPECT_TRUE(packs_very_long(16392, 8, true));
  EXPECT_FALSE(packs_very_long(131072, 1023, false));
  EXPECT_TRUE(packs_very_long(131073, 1023, false));
  EXPECT_FALSE(packs_very_long(262144, 1024, false)) << "goes by pieces";
  for (const std::uint64_t length : kLengths) EXPECT_FALSE(packs_very_long(length, 0, false)) << "contiguous";
}

/// The number of blocks by a quotient, as the times of the protocols are predicted from it.
double quotient_of(std::uint64_t length, std::uint32_t block) {
  return block == 0 ? 1.0 : std::max(1.0, static_cast<double>(length) / block);
}

TEST(CostModel, compares_products_as_it_would_compare_quotients) {
  const Parameters& p = parameters();
  const double limits[] = {p.packs_long_blocks, p.packs_very_long_blocks, p.packs_very_long_sparse_blocks,
                           p.mapped_sparse_blocks};
  const auto first = static_cast<std::uint64_t>(test::from_environment("STRIA_TEST_SEED", 20240601));
  for (std::int64_t round = 0; round < test::rounds(50000); ++round) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(round);
    std::mt19937_64 random(seed);
    const auto block = static_cast<std::uint32_t>((random() & 0x7fffffff) >> (random() % 32));
    const auto limit = static_cast<std::uint64_t>(limits[random() % 4]);
    const std::uint64_t near = block * limit + random() % 3;
    const std::uint64_t length = random() % 4 == 0 ? (random() >> 11) >> (random() % 50) : near - (near > 0);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << length << " bytes, blocks of " << block);
    const double blocks = quotient_of(length, block);
    const bool is_small = block != 0 && block < transport::kBlockOfPieces;
    const bool is_long =
        block != 0 && (blocks > p.packs_long_blocks || (length > p.packs_long_bytes && is_small));
    ASSERT_EQ(packs_long(length, block), is_long);
    for (const bool sparse : {false, true}) {
      const double most = sparse ? p.packs_very_long_sparse_blocks : p.packs_very_long_blocks;
      ASSERT_EQ(packs_very_long(length, block, sparse),
                blocks > most || (length > p.packs_very_long_bytes && is_small));
      for (const bool far : {false, true}) {
        const bool is_mapped =
            length >= p.mapped_bytes &&
            (is_long ? !sparse || blocks >= p.mapped_sparse_blocks : length >= p.mapped_long_bytes && !far);
        ASSERT_EQ(goes_mapped(length, block, sparse, far), is_mapped);
      }
    }
  }
}

TEST(CostModel, many_small_blocks_and_many_bytes_pack_long) {
  for (const std::uint64_t length : kLengths) EXPECT_FALSE(packs_long(length, 0)) << "contiguous";
  EXPECT_FALSE(packs_long(4096, 64));
  EXPECT_FALSE(packs_long(1024, 8));
  EXPECT_TRUE(packs_long(4096, 8));
  EXPECT_FALSE(packs_long(32768, 1023));
  EXPECT_TRUE(packs_long(32769, 1023));
  EXPECT_FALSE(packs_long(131072, 1024)) << "goes by pieces";
}

TEST(CostModel, a_receiver_helps_where_a_get_is_not_much_slower_than_the_pipeline) {
  MessageFacts bytes;
  bytes.length = 128 << 10;
  bytes.can_get = true;
  EXPECT_EQ(choose(bytes).protocol->name, kPipeline.name);
  EXPECT_TRUE(can_help(bytes, choose(bytes)));
  MessageFacts no_key = bytes;
  no_key.can_get = false;
  EXPECT_FALSE(can_help(no_key, choose(no_key)));
  MessageFacts forced = bytes;
  forced.force = Force::pipeline;
  EXPECT_FALSE(can_help(forced, choose(forced))) << "the user wants fragments";
  MessageFacts column = bytes;
  column.source_block = 8;
  EXPECT_FALSE(can_help(column, choose(column))) << "a list entry a double";
  MessageFacts few = bytes;
  few.length = 1024;
  EXPECT_FALSE(can_help(few, choose(few))) << "not worth a key";
  for (const std::uint64_t kib : {64, 128, 1024, 8192, 65536})
    for (const bool flows : {false, true}) {
      MessageFacts far = bytes;
      far.length = kib * 1024;
      far.far = true;
      far.flows = flows;
      EXPECT_TRUE(can_help(far, choose(far))) << kib << (flows ? " KiB, flows" : " KiB");
    }
}

TEST(CostModel, a_worker_copies_once_what_it_sends_to_itself) {
  for (const std::uint64_t length : kLengths)
    for (const std::uint32_t source : kBlocks)
      for (const std::uint32_t sink : kBlocks) {
        MessageFacts facts;
        facts.length = length;
        facts.source_block = source;
        facts.sink_block = sink;
        facts.can_get = true;
        facts.self = true;
        EXPECT_EQ(choose(facts).protocol->name, kGet.name);
        facts.force = Force::pipeline;
        EXPECT_EQ(choose(facts).protocol->name, kPipeline.name);
        facts.force = Force::automatic;
        facts.can_get = false;
        EXPECT_EQ(choose(facts).protocol->name, kPipeline.name);
      }
}

TEST(CostModel, has_each_protocol_once_by_its_place_and_its_name) {
  std::set<std::string_view> names;
  std::size_t place = 0;
  Protocols::for_each([&](const Protocol& one) {
    EXPECT_EQ(Protocols::index_of(one), place++);
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
  });
  EXPECT_EQ(names.size(), Protocols::kCount);
}

TEST(CostModel, reads_the_names_of_the_configuration) {
  EXPECT_EQ(parse_force("auto"), Force::automatic);
  EXPECT_EQ(parse_force("get"), Force::get);
  EXPECT_EQ(parse_force("both"), Force::both);
  EXPECT_EQ(parse_force("pipeline"), Force::pipeline);
  EXPECT_TRUE(parse_flows("on"));
  EXPECT_FALSE(parse_flows("off"));
}

TEST(CostModel, takes_what_was_measured_of_copies_through_the_kernel) {
  const Parameters standard;
  hw::Choices choices;
  EXPECT_EQ(fitted(choices).get_start_us, standard.get_start_us);
  choices.attach_start_us = 0.5;
  choices.attach_factor = 0.5;
  const Parameters found = fitted(choices);
  EXPECT_EQ(found.get_start_us, 0.5);
  EXPECT_EQ(found.get_us_per_kib, standard.get_us_per_kib / 2);
  EXPECT_EQ(found.get_us_per_kib_beyond, standard.get_us_per_kib_beyond / 2);
  EXPECT_EQ(found.pipeline_us_per_kib, standard.pipeline_us_per_kib);
}

}  // namespace
}  // namespace stria::rndv
