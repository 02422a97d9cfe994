// The receiver's credit accounting, against the rule it states: what is granted and what is buffered stays
// within the budget, apart from the first grant of each peer. Oracle: a naive ledger of every peer, summed
// anew at each step. The room of a top-up is taken from the budget itself, so the tests hold whatever share a
// policy gives to a peer.
#include "eager/credit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "eager/buffer_pool.hpp"

namespace stria::eager {
namespace {

TEST(Credit, tops_up_a_peer_that_is_low_and_not_one_that_has_plenty) {
  Budget budget(64ull << 20);
  Grant grant;
  budget.peer_joined(grant);
  ASSERT_TRUE(budget.top_up(grant));
  EXPECT_GT(grant.due, 0u);
  EXPECT_EQ(grant.outstanding, kFirstGrant + grant.due);
  EXPECT_LE(grant.outstanding, kGrantTarget);
  EXPECT_EQ(budget.committed(), most_memory(grant.outstanding));
  EXPECT_FALSE(budget.top_up(grant)) << "it was just topped up";
}

TEST(Credit, grants_nothing_beyond_the_budget) {
  Budget budget(most_memory(kFirstGrant));
  Grant grant;
  budget.peer_joined(grant);
  EXPECT_FALSE(budget.top_up(grant));
  ASSERT_TRUE(budget.arrived(grant, kFirstGrant));
  EXPECT_EQ(grant.outstanding, 0u);
  EXPECT_FALSE(budget.top_up(grant)) << "what is not in a buffer yet may take the most";
  EXPECT_EQ(budget.committed(), most_memory(kFirstGrant));
  budget.kept(grant, kFirstGrant, most_memory(kFirstGrant));
  EXPECT_FALSE(budget.top_up(grant)) << "what is kept is still committed";
  EXPECT_EQ(budget.committed(), most_memory(kFirstGrant));
}

TEST(Credit, what_a_buffer_takes_less_than_the_most_can_be_granted_anew) {
  Budget budget(most_memory(kFirstGrant));
  Grant grant;
  budget.peer_joined(grant);
  ASSERT_TRUE(budget.arrived(grant, kFirstGrant));
  budget.kept(grant, kFirstGrant, kFirstGrant);
  EXPECT_EQ(budget.committed(), kFirstGrant);
  ASSERT_TRUE(budget.top_up(grant));
  EXPECT_EQ(grant.outstanding, kFirstGrant / kMostPerByte);
  EXPECT_EQ(budget.committed(), most_memory(kFirstGrant));
}

TEST(Credit, what_needs_no_buffer_is_committed_no_longer) {
  Budget budget(1u << 20);
  Grant grant;
  budget.peer_joined(grant);
  ASSERT_TRUE(budget.arrived(grant, kFirstGrant));
  budget.consumed(grant, 1000);
  budget.kept(grant, 16, 0);
  EXPECT_EQ(budget.committed(), most_memory(kFirstGrant - 1016));
  budget.kept(grant, kFirstGrant - 1016, 70000);
  EXPECT_EQ(budget.committed(), 70000u);
  budget.release(grant, 70000);
  EXPECT_EQ(budget.committed(), 0u);
}

TEST(Credit, a_peer_that_sends_more_than_it_was_granted_is_refused) {
  Budget budget(1u << 20);
  Grant grant;
  budget.peer_joined(grant);
  EXPECT_FALSE(budget.arrived(grant, kFirstGrant + 1));
  EXPECT_EQ(grant.outstanding, kFirstGrant);
  EXPECT_EQ(grant.held, 0u);
  EXPECT_TRUE(budget.arrived(grant, kFirstGrant));
  EXPECT_FALSE(budget.arrived(grant, 1));
}

TEST(Credit, a_peer_that_leaves_gives_back_what_it_had_outstanding) {
  Budget budget(1u << 20);
  Grant grant;
  budget.peer_joined(grant);
  ASSERT_TRUE(budget.top_up(grant));
  ASSERT_TRUE(budget.arrived(grant, 1000));
  budget.kept(grant, 1000, 1040);
  budget.peer_left(grant);
  EXPECT_EQ(budget.committed(), 1040u) << "only what is kept is left";
  budget.release(grant, 1040);
  EXPECT_EQ(budget.committed(), 0u);
}

TEST(Credit, a_peer_that_comes_back_has_its_first_credit_again) {
  Budget budget(1u << 20);
  Grant grant;
  for (int round = 0; round < 2; ++round) {
    budget.peer_joined(grant);
    EXPECT_EQ(budget.committed(), most_memory(kFirstGrant));
    EXPECT_TRUE(budget.arrived(grant, 1));
    budget.consumed(grant, 1);
    budget.peer_left(grant);
    EXPECT_EQ(budget.committed(), 0u);
  }
}

// Peers of all kinds: an honest sender sends at most its credit; the receiver keeps or consumes.
struct Ledger {
  std::uint64_t credit = kFirstGrant;
  std::vector<std::uint64_t> kept;  // memory
};

TEST(Credit, what_arrives_without_a_receive_stays_within_the_budget_whatever_the_peers_do) {
  for (const unsigned most : {40u, 300u, 3000u, 16384u}) {
    const unsigned seed = 20240611 + most;
    std::mt19937_64 random(seed);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ", messages up to " << most << " bytes");
    const std::uint64_t bytes = 8ull << 20;
    constexpr unsigned kPeers = 40;
    Budget budget(bytes);
    std::vector<Grant> grants(kPeers);
    std::vector<Ledger> ledgers(kPeers);
    for (Grant& grant : grants) budget.peer_joined(grant);
    std::uint64_t sum = 0, peak = 0;
    for (unsigned step = 0; step < 400000; ++step) {
      const auto peer = static_cast<unsigned>(random() % kPeers);
      Grant& grant = grants[peer];
      Ledger& ledger = ledgers[peer];
      if (random() % 8 == 0 && !ledger.kept.empty()) {
        budget.release(grant, ledger.kept.back());
        sum -= ledger.kept.back();
        ledger.kept.pop_back();
      } else {
        const std::uint64_t message = std::min<std::uint64_t>(ledger.credit, random() % most);
        ledger.credit -= message;
        ASSERT_TRUE(budget.arrived(grant, message));
        const std::uint64_t memory = message > 16 ? BufferPool::footprint(message) : 0;
        if (random() % 8 == 0) {
          budget.consumed(grant, message);
        } else {
          budget.kept(grant, message, memory);
          ledger.kept.push_back(memory);
          sum += memory;
        }
      }
      if (budget.top_up(grant)) {
        ledger.credit += grant.due;  // the CREDIT packet arrives
        grant.due = 0;
      }
      ASSERT_EQ(grant.outstanding, ledger.credit) << "both sides count the same";
      peak = std::max(peak, sum);
      ASSERT_LE(sum, bytes);
    }
    EXPECT_GT(peak, bytes / 2) << "the test moved something";
    for (unsigned i = 0; i < kPeers; ++i) {
      for (const std::uint64_t memory : ledgers[i].kept) budget.release(grants[i], memory);
      EXPECT_EQ(grants[i].held, 0u);
      budget.peer_left(grants[i]);
    }
    EXPECT_EQ(budget.committed(), 0u) << "nothing is forgotten";
  }
}

}  // namespace
}  // namespace stria::eager
