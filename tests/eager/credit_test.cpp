// The receiver's credit accounting, against the rule it states: what is granted and what is buffered stays
// within the budget, apart from the first grant of each peer. Oracle: a naive ledger of every peer, summed
// anew at each step. The room of a top-up is taken from the budget itself, so the tests hold whatever share a
// policy gives to a peer.
#include "eager/credit.hpp"

#include <gtest/gtest.h>

#include <random>

namespace stria::eager {
namespace {

TEST(Credit, tops_up_a_peer_that_is_low_and_not_one_that_has_plenty) {
  Budget budget(64ull << 20);
  budget.peer_joined();
  Grant grant;
  ASSERT_TRUE(budget.top_up(grant));
  EXPECT_GT(grant.due, 0u);
  EXPECT_EQ(grant.outstanding, kFirstGrant + grant.due);
  EXPECT_LE(grant.outstanding, kGrantTarget);
  EXPECT_EQ(budget.committed(), grant.outstanding);
  EXPECT_FALSE(budget.top_up(grant)) << "it was just topped up";
}

TEST(Credit, grants_nothing_beyond_the_budget) {
  Budget budget(kFirstGrant);
  budget.peer_joined();
  Grant grant;
  EXPECT_FALSE(budget.top_up(grant));
  ASSERT_TRUE(budget.arrived(grant, kFirstGrant));
  EXPECT_EQ(grant.outstanding, 0u);
  EXPECT_FALSE(budget.top_up(grant)) << "what is buffered is still committed";
  EXPECT_EQ(budget.committed(), kFirstGrant);
}

TEST(Credit, a_peer_that_sends_more_than_it_was_granted_is_refused) {
  Budget budget(1u << 20);
  budget.peer_joined();
  Grant grant;
  EXPECT_FALSE(budget.arrived(grant, kFirstGrant + 1));
  EXPECT_EQ(grant.outstanding, kFirstGrant);
  EXPECT_EQ(grant.buffered, 0u);
  EXPECT_TRUE(budget.arrived(grant, kFirstGrant));
  EXPECT_FALSE(budget.arrived(grant, 1));
}

TEST(Credit, a_peer_that_leaves_gives_back_what_it_had_outstanding) {
  Budget budget(1u << 20);
  budget.peer_joined();
  Grant grant;
  ASSERT_TRUE(budget.top_up(grant));
  ASSERT_TRUE(budget.arrived(grant, 1000));
  budget.peer_left(grant);
  EXPECT_EQ(budget.committed(), 1000u) << "only what is buffered is left";
}

TEST(Credit, what_arrives_without_a_receive_stays_within_the_budget_whatever_the_peers_do) {
  const unsigned seed = 20240611;
  std::mt19937_64 random(seed);
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  const std::uint64_t bytes = 8ull << 20;
  constexpr unsigned kPeers = 40;
  Budget budget(bytes);
  std::vector<Grant> grants(kPeers);
  std::vector<std::uint64_t> credit(kPeers, kFirstGrant), buffered(kPeers, 0);
  for (unsigned i = 0; i < kPeers; ++i) budget.peer_joined();
  for (unsigned step = 0; step < 200000; ++step) {
    const auto peer = static_cast<unsigned>(random() % kPeers);
    // An honest sender: at most its credit. The receiver never receives, so that everything stays buffered.
    const std::uint64_t message = std::min<std::uint64_t>(credit[peer], random() % 16384);
    credit[peer] -= message;
    ASSERT_TRUE(budget.arrived(grants[peer], message));
    buffered[peer] += message;
    if (budget.top_up(grants[peer])) {
      credit[peer] += grants[peer].due;  // the CREDIT packet arrives
      grants[peer].due = 0;
    }
    ASSERT_EQ(grants[peer].outstanding, credit[peer]) << "both sides count the same";
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t part : buffered) sum += part;
  EXPECT_GT(sum, kPeers * kFirstGrant / 2) << "the test moved something";
  EXPECT_LE(sum, std::max(bytes, kPeers * kFirstGrant));
}

}  // namespace
}  // namespace stria::eager
