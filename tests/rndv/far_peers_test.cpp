// The choice of a scheme between caches that are far apart.
#include "rndv/cost_model.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace stria::rndv {
namespace {

// Docs: two cores that copy are ahead, between far caches once the longer way to begin is paid.
TEST(FarPeers, contiguous_messages_of_far_peers_are_read_where_they_are_short) {
  for (const std::uint64_t kib : {64, 128, 256, 512, 1024, 2048, 4096, 16384}) {
    Question question;
    question.length = kib * 1024;
    question.can_get = true;
    EXPECT_EQ(choose(question).scheme, Scheme::pipeline) << kib;
    question.far = true;
    EXPECT_EQ(choose(question).scheme, kib <= 64 ? Scheme::get : Scheme::pipeline) << kib;
    question.can_get = false;
    EXPECT_EQ(choose(question).scheme, Scheme::pipeline) << kib;
  }
}

// Docs: past far caches each side copies a part, of what a get could move, where the sender can put.
TEST(FarPeers, far_peers_share_the_copy_of_large_messages) {
  for (const std::uint64_t kib : {256, 512, 1024, 4096, 16384}) {
    Question question;
    question.length = kib * 1024;
    question.can_get = question.can_share = true;
    EXPECT_EQ(choose(question).scheme, Scheme::pipeline) << kib;
    question.far = true;
    EXPECT_EQ(choose(question).scheme, Scheme::both) << kib;
    question.force = Force::get;
    EXPECT_EQ(choose(question).scheme, Scheme::get) << kib;
    question.force = Force::automatic;
    for (const std::uint32_t block : {8u, 1024u}) {
      question.source_block = block;
      EXPECT_EQ(choose(question).scheme, Scheme::pipeline) << kib << " in blocks of " << block;
      std::swap(question.source_block, question.sink_block);
      EXPECT_EQ(choose(question).scheme, Scheme::pipeline) << kib << " to blocks of " << block;
      std::swap(question.source_block, question.sink_block);
    }
    question.source_block = 0;
    question.busy = true;
    EXPECT_NE(choose(question).scheme, Scheme::both) << kib << ": each core copies messages of its own";
    question.busy = false;
    question.can_get = false;
    EXPECT_EQ(choose(question).scheme, Scheme::pipeline) << kib;
  }
}

// Docs: where fragments flow, far peers take them as near ones do, from the shortest message that is
// announced on.
TEST(FarPeers, far_peers_take_fragments_where_they_flow) {
  for (const std::uint64_t kib : {8, 12, 24, 64, 256, 1024, 4096, 16384}) {
    Question question;
    question.length = kib * 1024;
    question.can_get = question.can_share = question.far = question.flows = true;
    EXPECT_EQ(choose(question).scheme, Scheme::pipeline) << kib;
    question.busy = true;
    EXPECT_EQ(choose(question).scheme, Scheme::pipeline) << kib << ", both ways";
    question.busy = false;
    question.force = Force::both;
    const bool has_parts = senders_part(question.length, piece_of(question)) != 0;
    EXPECT_EQ(choose(question).scheme, has_parts ? Scheme::both : Scheme::get) << kib;
  }
}

// Docs: a get leaves the sender's lines in both caches, which costs who writes them again. Where they are
// near it does not, nor where they are sent as they were.
TEST(FarPeers, what_is_written_anew_is_not_got_by_far_peers) {
  for (const std::uint64_t kib : {192, 256, 512, 1024, 4096, 16384})
    for (const bool mapped : {false, true}) {
      Question question;
      question.length = kib * 1024;
      question.can_get = question.can_share = true;
      question.mapped = mapped;
      const Scheme near = choose(question).scheme;
      question.written = true;
      EXPECT_EQ(choose(question).scheme, near) << kib;
      question.far = true;
      EXPECT_EQ(choose(question).scheme, Scheme::pipeline) << kib << (mapped ? " KiB, mapped" : " KiB");
      question.written = false;
      EXPECT_EQ(choose(question).scheme, mapped ? Scheme::mapped : Scheme::both) << kib;
      question.busy = question.written = true;
      EXPECT_EQ(choose(question).scheme, mapped ? Scheme::mapped : Scheme::pipeline) << kib << ", both ways";
    }
}

// Docs: with messages both ways each core packs one and unpacks the other, and the second copy is no longer
// free; it still costs less than what the kernel does, but where each line comes from far.
TEST(FarPeers, reads_where_both_sides_send_and_the_caches_are_far) {
  for (const std::uint64_t kib : {64, 256, 1024, 2048, 4096, 16384}) {
    Question question;
    question.length = kib * 1024;
    question.can_get = true;
    question.busy = true;
    EXPECT_EQ(choose(question).scheme, Scheme::pipeline) << kib;
    question.far = true;
    EXPECT_EQ(choose(question).scheme, Scheme::get) << kib;
    question.source_block = 8;
    EXPECT_EQ(choose(question).scheme, Scheme::pipeline) << kib;
  }
}

}  // namespace
}  // namespace stria::rndv
