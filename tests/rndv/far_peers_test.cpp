// The choice of a scheme between caches that are far apart.
#include "rndv/cost_model.hpp"

#include <gtest/gtest.h>

#include "rndv/protocols/list.hpp"

namespace stria::rndv {
namespace {

// Docs: two cores that copy are ahead, between far caches once the longer way to begin is paid.
TEST(FarPeers, contiguous_messages_of_far_peers_are_read_where_they_are_short) {
  for (const std::uint64_t kib : {64, 128, 256, 512, 1024, 2048, 4096, 16384}) {
    MessageFacts facts;
    facts.length = kib * 1024;
    facts.can_get = true;
    EXPECT_EQ(choose(facts).protocol->name, kPipeline.name) << kib;
    facts.far = true;
    EXPECT_EQ(choose(facts).protocol->name, kib <= 64 ? kGet.name : kPipeline.name) << kib;
    facts.can_get = false;
    EXPECT_EQ(choose(facts).protocol->name, kPipeline.name) << kib;
  }
}

TEST(FarPeers, blocks_are_packed_whatever_their_length) {
  for (const std::uint64_t kib : {256, 512, 1024, 4096, 16384})
    for (const std::uint32_t block : {8u, 1024u})
      for (const bool at_sender : {false, true}) {
        MessageFacts facts{.length = kib * 1024, .can_get = true, .far = true};
        (at_sender ? facts.source_block : facts.sink_block) = block;
        EXPECT_EQ(choose(facts).protocol->name, kPipeline.name) << kib << " in blocks of " << block;
      }
}

// Docs: where fragments flow, far peers take them as near ones do, from the shortest message that is
// announced on.
TEST(FarPeers, far_peers_take_fragments_where_they_flow) {
  for (const std::uint64_t kib : {8, 12, 24, 64, 256, 1024, 4096, 16384}) {
    MessageFacts facts;
    facts.length = kib * 1024;
    facts.can_get = facts.far = facts.flows = true;
    EXPECT_EQ(choose(facts).protocol->name, kPipeline.name) << kib;
    facts.busy = true;
    EXPECT_EQ(choose(facts).protocol->name, kPipeline.name) << kib << ", both ways";
  }
}

// Docs: with messages both ways each core packs one and unpacks the other, and the second copy is no longer
// free; it still costs less than what the kernel does, but where each line comes from far.
TEST(FarPeers, reads_where_both_sides_send_and_the_caches_are_far) {
  for (const std::uint64_t kib : {64, 256, 1024, 2048, 4096, 16384}) {
    MessageFacts facts;
    facts.length = kib * 1024;
    facts.can_get = true;
    facts.busy = true;
    EXPECT_EQ(choose(facts).protocol->name, kPipeline.name) << kib;
    facts.far = true;
    EXPECT_EQ(choose(facts).protocol->name, kGet.name) << kib;
    facts.source_block = 8;
    EXPECT_EQ(choose(facts).protocol->name, kPipeline.name) << kib;
  }
}

}  // namespace
}  // namespace stria::rndv
