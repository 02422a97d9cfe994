// The table of links: what a lookup finds, and that a walk over the living meets no others, however many
// there were. Walks are counted, not timed.
#include "transport/shm/links.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>

#include "transport/shm/shared.hpp"

namespace stria::shm::test {
namespace {

std::unique_ptr<Link> make_link() {
  static Shared shared;
  return std::make_unique<Link>(shared);
}

std::set<Link*> living_of(const Links& links) {
  std::set<Link*> out;
  for (std::uint32_t i = 0; i < links.living(); ++i)
    EXPECT_TRUE(out.insert(&links.living(i)).second) << "a link was met twice";
  return out;
}

TEST(ShmLinks, are_found_by_their_worker_also_when_they_are_down) {
  Links links;
  EXPECT_EQ(links.find(1), nullptr);
  std::vector<Link*> made;
  for (std::uint64_t worker = 1; worker <= 100; ++worker)
    made.push_back(&links.add(worker << 40, make_link()));
  for (std::size_t i = 0; i < made.size(); i += 2) links.went_down(*made[i]);
  for (std::uint64_t worker = 1; worker <= 100; ++worker)
    EXPECT_EQ(links.find(worker << 40), made[worker - 1]);
  EXPECT_EQ(links.find(7), nullptr);
  EXPECT_EQ(links.size(), 100u);
}

TEST(ShmLinks, that_are_down_are_met_by_no_walk_whatever_came_and_went) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Links links;
  std::set<Link*> up;
  for (std::uint64_t worker = 1; worker <= 2000; ++worker) {
    up.insert(&links.add(worker, make_link()));
    while (up.size() > random() % 8) {
      const auto victim = std::next(up.begin(), static_cast<std::ptrdiff_t>(random() % up.size()));
      links.went_down(**victim);
      up.erase(victim);
    }
    ASSERT_EQ(living_of(links), up) << "after " << worker;
  }
}

// Teardown::check() walks so: a link that goes down leaves its place to another link, which is looked at
// next.
TEST(ShmLinks, go_down_during_a_walk_that_meets_each_once) {
  Links links;
  for (std::uint64_t worker = 1; worker <= 50; ++worker) links.add(worker, make_link());
  std::set<Link*> met;
  unsigned steps = 0;
  for (std::uint32_t i = 0; i < links.living(); ++steps) {
    Link& link = links.living(i);
    EXPECT_TRUE(met.insert(&link).second);
    steps % 3 == 0 ? links.went_down(link) : static_cast<void>(++i);
  }
  EXPECT_EQ(steps, 50u);
  EXPECT_EQ(met.size(), 50u);
  EXPECT_EQ(links.living(), 50u - 17u);
}

TEST(ShmLinks, that_were_refused_are_asked_and_forgotten_one_by_one) {
  Links links;
  std::vector<Link*> made;
  for (std::uint64_t worker = 1; worker <= 6; ++worker) made.push_back(&links.add(worker, make_link()));
  for (const std::uint32_t number : {1u, 3u, 4u}) {
    links.went_down(*made[number]);
    links.refused(number);
  }
  const auto asked = [&](Link* victim) {
    std::set<Link*> out;
    links.forget_refused([&](Link& link) {
      EXPECT_TRUE(out.insert(&link).second);
      return &link == victim;
    });
    return out;
  };
  EXPECT_EQ(asked(made[3]), (std::set<Link*>{made[1], made[3], made[4]}));
  EXPECT_EQ(asked(made[4]), (std::set<Link*>{made[1], made[4]}));
  EXPECT_EQ(asked(made[1]), (std::set<Link*>{made[1]}));
  EXPECT_TRUE(asked(nullptr).empty());
  EXPECT_EQ(links.living(), 3u);
}

}  // namespace
}  // namespace stria::shm::test
