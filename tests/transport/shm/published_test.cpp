// What the owner of layouts promises: a name stands for one layout as long as a key counts on it, whatever
// becomes of the layout itself.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "tests/transport/shm/layout_slots.hpp"
#include "transport/shm/layouts.hpp"

namespace stria::shm::test {
namespace {

using datatype::Layout;

constexpr std::uint32_t kNames = kLayoutSlots - 1;  // number 0 is contiguous memory

/// Another layout for each `i`.
Layout rows(std::int64_t i) {
  return *Layout::vector(4, 8, 64 + i, Layout::bytes(1));
}

class Published : public testing::Test {
 protected:
  Published() : owner_(slots_.segment()) {}
  LayoutName acquire(const Layout& layout) {
    LayoutName name;
    EXPECT_EQ(owner_.acquire(layout, name), Status::ok);
    return name;
  }
  Status try_acquire(const Layout& layout) {
    LayoutName name;
    return owner_.acquire(layout, name);
  }
  /// What a peer finds that sees the name for the first time.
  std::optional<Layout> found(const LayoutName& name) {
    DecodedLayouts peer;
    const Layout* layout = peer.find(slots_.segment(), name);
    return layout == nullptr ? std::nullopt : std::optional(*layout);
  }
  /// Gives all names that are left to rows(first), rows(first + 1), ...
  std::vector<LayoutName> take_all(std::uint32_t left, std::int64_t first) {
    std::vector<LayoutName> names;
    for (std::uint32_t i = 0; i < left; ++i) names.push_back(acquire(rows(first + i)));
    EXPECT_EQ(try_acquire(rows(first + left)), Status::no_resource);
    return names;
  }

  Slots slots_;
  PublishedLayouts owner_;
};

TEST_F(Published, names_in_use_are_given_to_nobody_else) {
  const std::vector<LayoutName> names = take_all(kNames, 0);
  for (int round = 0; round < 3; ++round) EXPECT_EQ(try_acquire(rows(1000 + round)), Status::no_resource);
  for (std::uint32_t i = 0; i < kNames; ++i) {
    ASSERT_EQ(found(names[i]), rows(i)) << i;
    ASSERT_EQ(acquire(rows(i)).number, names[i].number) << "a layout that is published needs no other name";
    owner_.release(names[i].number);
  }
}

TEST_F(Published, a_name_that_is_released_stands_for_another_layout_and_not_for_the_old_one) {
  const std::vector<LayoutName> names = take_all(kNames, 0);
  DecodedLayouts peer;
  ASSERT_EQ(*peer.find(slots_.segment(), names[77]), rows(77));
  owner_.release(names[77].number);
  const LayoutName next = acquire(rows(1000));
  EXPECT_EQ(next.number, names[77].number);
  EXPECT_EQ(try_acquire(rows(1001)), Status::no_resource);
  EXPECT_EQ(try_acquire(rows(77)), Status::no_resource) << "it has lost its name";
  EXPECT_EQ(found(next), rows(1000));
  EXPECT_EQ(found(names[77]), std::nullopt);
  EXPECT_EQ(*peer.find(slots_.segment(), next), rows(1000)) << "a peer that keeps the old one";
  EXPECT_EQ(found(names[76]), rows(76));
}

// The low bits of their hashes are equal.
TEST_F(Published, layouts_are_published_once_however_many_are_used_in_turn) {
  std::vector<Layout> layouts;
  std::vector<LayoutName> first;
  for (std::int64_t i = 1; i <= 64; ++i) layouts.push_back(*Layout::resized(rows(0), 0, i * 4096));
  for (const Layout& layout : layouts) {
    first.push_back(acquire(layout));
    owner_.release(first.back().number);
  }
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const LayoutName again = acquire(layouts[i]);
    ASSERT_EQ(again.number, first[i].number) << i;
    ASSERT_EQ(again.generation, first[i].generation) << "its peers would decode it again";
    owner_.release(again.number);
  }
}

TEST_F(Published, each_key_counts_for_itself) {
  const LayoutName name = acquire(rows(0));
  EXPECT_EQ(acquire(rows(0)).number, name.number);
  owner_.release(name.number);
  take_all(kNames - 1, 1);
  EXPECT_EQ(found(name), rows(0)) << "one of two keys is left";
  owner_.release(name.number);
  EXPECT_EQ(try_acquire(rows(1000)), Status::ok);
  EXPECT_EQ(found(name), std::nullopt);
}

TEST_F(Published, a_layout_that_was_freed_keeps_its_name_while_a_key_counts_on_it) {
  auto layout = std::make_unique<Layout>(rows(0));
  const LayoutName name = acquire(*layout);
  layout.reset();
  take_all(kNames - 1, 1);
  EXPECT_EQ(found(name), rows(0));
  owner_.release(name.number);
  EXPECT_EQ(acquire(rows(1000)).number, name.number);
  EXPECT_EQ(found(name), std::nullopt);
}

TEST_F(Published, every_name_stands_for_its_layout_whatever_was_acquired_and_released) {
  std::mt19937_64 random(7);
  std::vector<std::pair<std::int64_t, LayoutName>> live;
  for (int step = 0; step < 20000; ++step) {
    if (!live.empty() && (live.size() == kNames || random() % 5 < 2)) {
      std::swap(live[random() % live.size()], live.back());
      owner_.release(live.back().second.number);
      live.pop_back();
      continue;
    }
    const auto i = static_cast<std::int64_t>(random() % 1500);
    const LayoutName name = acquire(rows(i));
    ASSERT_NE(name.number, 0u);
    for (const auto& [other, its_name] : live)
      ASSERT_EQ(other == i, its_name.number == name.number) << "one name a layout";
    live.push_back({i, name});
  }
  for (const auto& [i, name] : live) EXPECT_EQ(found(name), rows(i));
}

// The address of the last layout is looked at first, and says nothing: it may be that of another one now.
TEST_F(Published, a_layout_where_another_one_was_has_a_name_of_its_own) {
  std::optional<Layout> place = rows(0);
  const LayoutName first = acquire(*place);
  place.emplace(rows(1));
  const LayoutName second = acquire(*place);
  EXPECT_NE(second.number, first.number);
  EXPECT_EQ(found(first), rows(0));
  EXPECT_EQ(found(second), rows(1));
  *place = rows(0);
  EXPECT_EQ(acquire(*place).number, first.number);
}

TEST_F(Published, a_layout_where_another_one_was_whose_name_was_given_away_has_a_name_of_its_own) {
  std::optional<Layout> place = rows(0);
  const LayoutName first = acquire(*place);
  owner_.release(first.number);
  const std::vector<LayoutName> others = take_all(kNames, 1);  // the first name among them
  EXPECT_EQ(found(first), std::nullopt);
  EXPECT_EQ(try_acquire(*place), Status::no_resource) << "what was known at this address has no name now";
  owner_.release(others[0].number);
  const LayoutName again = acquire(*place);
  EXPECT_EQ(found(again), rows(0));
}

}  // namespace
}  // namespace stria::shm::test
