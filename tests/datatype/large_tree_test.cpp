// Trees of memory that is too much to be written out run by run, or nearly: shallow, small, and equal where
// canonical.hpp says so.
#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "datatype/canonical.hpp"
#include "datatype/checked.hpp"
#include "datatype/pack.hpp"
#include "tests/datatype/random_type.hpp"

namespace stria::datatype {
namespace {

using Vec = std::vector<std::int64_t>;

/// n places for blocks of `bytes`, none regular and none touching the next, the first at 0.
Vec irregular_places(std::int64_t n, std::int64_t bytes, Random& random) {
  Vec at;
  std::int64_t place = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    at.push_back(place);
    place += bytes + random.in(1, 90);
  }
  return at;
}
Layout irregular(std::int64_t n, std::int64_t bytes, Random& random) {
  return must(Layout::indexed_block(bytes, irregular_places(n, bytes, random), Layout::bytes(1)));
}

/// Where stream byte `offset` lies.
std::int64_t place_of(const Layout& layout, std::int64_t offset) {
  struct iovec run;
  std::int64_t covered = 0;
  iovecs(range_of(layout, nullptr, 1, offset, 1), &run, 1, &covered);
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(run.iov_base));
}

/// The nodes of a tree, each once, and the entries of all their lists: what the tree takes.
struct Census {
  std::set<const Node*> nodes;
  std::size_t entries = 0;
  void add(const Node& node) {
    if (!nodes.insert(&node).second) return;
    if (const Strided* s = node.strided()) {
      add(*s->child);
    } else if (const auto* x = std::get_if<Indexed>(&node.form)) {
      entries += x->displacements.size();
      add(*x->child);
    } else if (const auto* b = std::get_if<Blocks>(&node.form)) {
      entries += b->displacements.size();
    } else if (const auto* c = std::get_if<Composite>(&node.form)) {
      entries += c->children.size();
      for (const NodePtr& child : c->children) add(*child);
    }
  }
};
Census census_of(const Layout& layout) {
  Census census;
  census.add(layout.root());
  return census;
}

TEST(LargeTree, stays_shallow_when_it_grows_beside_lists_that_are_too_long_to_write_out) {
  Random random(seed_of(0));
  const Layout list = irregular(kSpliceEntries / 3 + 1000, 1, random);
  const std::int64_t step = list.true_extent() + 5;
  Layout layout = Layout::bytes(3);
  std::vector<std::pair<std::int64_t, std::int64_t>> at;  // of each list: in the stream, in memory
  for (int i = 0; i < 140; ++i) {
    const std::int64_t end = layout.true_ub(), size = layout.size();
    const Vec places{0, end + 7, end + 7 + step, end + 7 + 2 * step + 1};
    for (std::int64_t k = 0; k < 3; ++k)
      at.emplace_back(size + k * list.size(), places[static_cast<std::size_t>(k) + 1]);
    Result<Layout> made =
        Layout::composite(Vec{1, 1, 1, 1}, places, std::vector<Layout>{layout, list, list, list});
    ASSERT_TRUE(made.has_value()) << made.error().context;
    layout = *made;
    ASSERT_LE(layout.root().depth, 8) << "level " << i;
  }
  EXPECT_EQ(layout.size(), 3 + 420 * list.size());
  EXPECT_LE(census_of(layout).nodes.size(), 16U) << "the list is one node";
  for (const auto& [stream, memory] : at) {
    ASSERT_EQ(place_of(layout, stream), memory);
    for (int k = 0; k < 5; ++k) {
      const std::int64_t byte = random.in(0, list.size() - 1);
      ASSERT_EQ(place_of(layout, stream + byte), memory + place_of(list, byte));
    }
  }
}

/// What bounds the depth (kMaxDepth), at every node.
void check_depths(const Node& node, std::set<const Node*>& seen) {
  if (!seen.insert(&node).second) return;
  const int doublings = std::countr_zero(std::bit_floor(static_cast<std::uint64_t>(node.size)));
  const auto* composite = std::get_if<Composite>(&node.form);
  ASSERT_LE(node.depth, 2 * doublings + (composite != nullptr ? 2 : 1)) << to_string(node);
  if (const Strided* s = node.strided()) check_depths(*s->child, seen);
  if (const auto* x = std::get_if<Indexed>(&node.form)) check_depths(*x->child, seen);
  if (composite == nullptr) return;
  for (const NodePtr& child : composite->children) {
    const bool inner = std::holds_alternative<Composite>(child->form);
    ASSERT_LE(child->size, inner ? node.size / 2 : node.size) << to_string(node);
    check_depths(*child, seen);
  }
}

/// A group whose seams are opened becomes a composite of nearly all bytes.
TEST(LargeTree, has_the_parts_of_an_opened_group_beside_its_other_parts) {
  Random random(seed_of(0));
  const Layout list = irregular(kSpliceEntries / 2, 1, random);
  const std::int64_t step = list.true_extent();
  const Layout layout = must(Layout::composite(Vec{1, 1, 1, 1}, Vec{0, step, 2 * step, 3 * step + 7},
                                               std::vector<Layout>{list, list, list, Layout::bytes(3)}));
  EXPECT_EQ(layout.block_count(), 3 * list.block_count() - 2 + 1);
  std::set<const Node*> seen;
  check_depths(layout.root(), seen);
}

/// Types of types, up to 63 bits of size: lists too long to be written out, seams that open, small parts
/// beside large ones.
TEST(LargeTree, of_any_parts_is_as_deep_as_its_size_allows_and_has_its_parts_where_they_were_put) {
  std::int64_t deepest = 0;
  for (std::int64_t round = 0; round < rounds(1); ++round) {
    Random random(seed_of(round));
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round));
    std::vector<Layout> pool{Layout::bytes(1), Layout::bytes(8),
                             must(Layout::strided(2, 16, Layout::bytes(8))), irregular(5000, 2, random),
                             irregular(kSpliceEntries / 2, 1, random)};
    const std::size_t given = pool.size();
    for (int step = 0; step < 15; ++step) {
      // Mostly of what was made last, so that trees grow.
      auto pick = [&] {
        const auto n = static_cast<std::int64_t>(pool.size());
        const std::int64_t from = random.one_in(3) ? 0 : n - 3;
        return pool[static_cast<std::size_t>(random.in(from, n - 1))];
      };
      const std::int64_t parts = random.one_in(4) ? 1 : random.in(2, 5);
      Vec counts, at;
      std::vector<Layout> children;
      std::int64_t place = 0;
      Checked size = 0;
      for (std::int64_t i = 0; i < parts; ++i) {
        children.push_back(i > 0 && random.one_in(2) ? children.back() : pick());
        counts.push_back(random.one_in(2) ? 1 : random.in(1, parts == 1 ? 5000 : 4));
        const Layout& child = children.back();
        const Checked here = Checked(place) - child.true_lb() + (random.one_in(3) ? random.in(0, 99) : 0);
        const Checked next = here + Checked(counts.back()) * child.extent();
        size = size + Checked(counts.back()) * child.size();
        if (!next.ok() || !size.ok()) break;
        at.push_back(here.value());
        place = next.value();
      }
      const bool fits = at.size() == children.size();
      const Result<Layout> made = fits ? Layout::composite(counts, at, children) : Error{Status::invalid, ""};
      if (!made) {  // as large as 64 bits allow: begin anew
        pool.resize(given);
        continue;
      }
      ASSERT_EQ(made->size(), size.value());
      std::set<const Node*> seen;
      check_depths(made->root(), seen);
      if (HasFatalFailure()) return;
      std::int64_t before = 0;
      for (std::size_t i = 0; i < at.size(); ++i) {
        for (int k = 0; k < 8; ++k) {
          const std::int64_t copy = random.in(0, counts[i] - 1), byte = random.in(0, children[i].size() - 1);
          ASSERT_EQ(place_of(*made, before + copy * children[i].size() + byte),
                    at[i] + copy * children[i].extent() + place_of(children[i], byte))
              << "part " << i << " of " << made->to_string();
        }
        before += counts[i] * children[i].size();
      }
      deepest = std::max<std::int64_t>(deepest, made->root().depth);
      pool.push_back(*made);
    }
  }
  EXPECT_GT(deepest, 4);
}

/// The layout of a typemap, one block of one byte per entry.
Layout byte_by_byte(const naive::Typemap& typemap) {
  return must(Layout::indexed_block(1, typemap.bytes, Layout::bytes(1)));
}
std::int64_t maximal_runs(const naive::Typemap& t) {
  std::int64_t runs = 1;
  for (std::size_t i = 1; i < t.bytes.size(); ++i) runs += t.bytes[i] != t.bytes[i - 1] + 1;
  return runs;
}

TEST(LargeTree, of_few_runs_is_one_tree_however_many_parts_the_runs_are_in) {
  const Layout rows = must(Layout::strided(3, 100, Layout::bytes(8)));
  for (const std::int64_t n : {4000, 4093, 4094, 4096, 5000, 9000}) {
    Vec ones(static_cast<std::size_t>(n), 1), at;
    std::vector<Layout> parts(static_cast<std::size_t>(n), Layout::bytes(1));
    for (std::int64_t i = 0; i < n; ++i) at.push_back(i);
    ones.push_back(1);
    at.push_back(n + 1000);
    parts.push_back(rows);
    const Layout a = must(Layout::composite(ones, at, parts));
    const Layout b =
        must(Layout::composite(Vec{1, 1}, Vec{0, n + 1000}, std::vector<Layout>{Layout::bytes(n), rows}));
    EXPECT_TRUE(same_memory(a, b)) << n << "\n" << a.to_string() << "\n" << b.to_string();
    EXPECT_EQ(a.block_count(), 4);
  }
}

/// Parts that touch one another, with up to so many runs that together they just may be written out.
TEST(LargeTree, of_touching_parts_is_what_its_bytes_one_by_one_give) {
  std::int64_t beyond = 0;  // of which the parts have more runs than are written out, the whole has not
  for (std::int64_t round = 0; round < rounds(30); ++round) {
    Random random(seed_of(round));
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round));
    std::vector<RandomType> kinds;
    while (kinds.size() < 3) {
      RandomType kind = random_type(random, 2, 40);
      if (kind.layout.size() > 0 && maximal_runs(kind.typemap) <= 6) kinds.push_back(std::move(kind));
    }
    RandomType type{Layout(), {}, ""};
    Vec ones, at;
    std::vector<Layout> parts;
    std::int64_t place = 0, runs = 0, seams = 0;
    const std::int64_t apart = random.in(0, 3), most = random.in(kExpandRuns - 20, kExpandRuns);
    for (;;) {
      const RandomType& kind = kinds[static_cast<std::size_t>(random.in(0, 2))];
      const bool touches = !ones.empty() && random.in(0, 3) >= apart;
      const std::int64_t more = maximal_runs(kind.typemap);
      if (runs + more - seams - (touches ? 1 : 0) > most || ones.size() > 9000) break;
      place = touches || ones.empty() ? place : place + random.in(1, 50);
      ones.push_back(1);
      at.push_back(place - kind.typemap.bytes.front());
      parts.push_back(kind.layout);
      type.typemap.append(kind.typemap, at.back());
      place = type.typemap.bytes.back() + 1;
      runs += more;
      seams += touches ? 1 : 0;
    }
    type.layout = must(Layout::composite(ones, at, parts));
    const Layout flat = byte_by_byte(type.typemap);
    ASSERT_EQ(type.layout.block_count(), maximal_runs(type.typemap));
    ASSERT_TRUE(same_memory(type.layout, flat)) << type.layout.to_string() << "\n" << flat.to_string();
    beyond += runs > kExpandRuns ? 1 : 0;
  }
  EXPECT_GT(beyond, 0);
}

TEST(LargeTree, of_copies_that_touch_is_one_tree_whether_copied_or_listed) {
  const Layout pair = must(Layout::strided(2, 16, Layout::bytes(8)));
  const std::int64_t step = pair.true_extent();
  for (const std::int64_t n : {1000, 3000}) {
    Vec at;
    for (std::int64_t i = 0; i < n; ++i) at.push_back(i * step);
    for (std::int64_t i = 0; i <= n; ++i) at.push_back(n * step + 1000 + i * step);
    const Layout listed = must(Layout::indexed_block(1, at, pair));
    const Layout copied = must(Layout::composite(
        Vec{1, 1}, Vec{0, n * step + 1000},
        std::vector<Layout>{must(Layout::contiguous(n, pair)), must(Layout::contiguous(n + 1, pair))}));
    EXPECT_TRUE(same_memory(listed, copied)) << listed.to_string() << "\n" << copied.to_string();
    EXPECT_EQ(listed.block_count(), n + 1 + n + 2);
  }
}

/// 6000 parts, three of a, three of b, and so on, at random distances or, inside a three, without one.
Layout in_threes(const Layout& a, const Layout& b, bool touching, Random& random) {
  Vec ones(6000, 1), at;
  std::vector<Layout> parts;
  std::int64_t place = 0;
  for (int i = 0; i < 6000; ++i) {
    parts.push_back(i / 3 % 2 == 0 ? a : b);
    at.push_back(place);
    place += parts.back().true_extent() + (touching && i % 3 < 2 ? 0 : random.in(1, 4000));
  }
  return must(Layout::composite(ones, at, parts));
}

TEST(LargeTree, keeps_a_repeated_list_once_whatever_it_stands_between) {
  Random random(seed_of(0));
  const Layout a = irregular(3000, 1, random), b = irregular(3000, 2, random);
  const Census apart = census_of(in_threes(a, b, false, random));
  EXPECT_LE(apart.entries, 2 * 3000U + 6000U + 2000U) << "a, b, the places in each group, and the groups";
  EXPECT_LE(apart.nodes.size(), 2000U + 5U);
  const Census touching = census_of(in_threes(a, b, true, random));
  EXPECT_LE(touching.entries, 2 * 3 * 3000U + 2000U) << "three of a, three of b, and the groups";
}

TEST(LargeTree, keeps_copies_of_a_repeated_part_once) {
  Random random(seed_of(0));
  const Layout parts[] = {irregular(1990, 1, random), irregular(1990, 2, random)};
  Vec twos(2000, 2), at;
  std::vector<Layout> children;
  std::int64_t place = 0;
  for (std::size_t i = 0; i < twos.size(); ++i) {
    children.push_back(parts[i % 2]);
    at.push_back(place);
    place += 2 * children.back().extent() + random.in(1, 50);
  }
  // Two of one root at another place are not the same two.
  children[4] = must(Layout::indexed_block(1, Vec{-3}, children[4]));
  const Layout all = must(Layout::composite(twos, at, children));
  const auto* composite = std::get_if<Composite>(&all.root().form);
  ASSERT_NE(composite, nullptr);
  ASSERT_EQ(composite->children.size(), twos.size());
  for (std::size_t i = 2; i < twos.size(); ++i)
    ASSERT_EQ(composite->children[i], composite->children[i % 2]) << i;
  for (std::size_t i = 0; i < twos.size(); ++i)
    ASSERT_EQ(composite->displacements[i], at[i] - (i == 4 ? 3 : 0)) << i;
}

}  // namespace
}  // namespace stria::datatype
