// Groups of runs that repeat inside a sequence: where they are found, that copies which touch are rolled like
// copies which do not, and that neither the constructors nor what stands beside them matters.
#include "datatype/repetition.hpp"

#include <gtest/gtest.h>

#include "datatype/canonical.hpp"
#include "datatype/descriptor.hpp"
#include "tests/datatype/check_pack.hpp"
#include "tests/datatype/check_transfer.hpp"

namespace stria::datatype {
namespace {

using Vec = std::vector<std::int64_t>;

/// struct {char; int; char; double}: 24 bytes, and its last field ends where the next one begins.
Layout touching_struct() {
  const std::vector<Layout> fields{Layout::bytes(1), Layout::bytes(4), Layout::bytes(1), Layout::bytes(8)};
  return must(Layout::composite(Vec{1, 1, 1, 1}, Vec{0, 4, 8, 16}, fields));
}

/// Maximal runs in typemap order.
struct Runs {
  Vec at, bytes;
  void add(std::int64_t place, std::int64_t n) {
    if (!at.empty() && at.back() + bytes.back() == place) {
      bytes.back() += n;
      return;
    }
    at.push_back(place);
    bytes.push_back(n);
  }
  std::int64_t end() const { return at.empty() ? 0 : at.back() + bytes.back(); }
  naive::Typemap typemap() const {
    naive::Typemap t;
    for (std::size_t i = 0; i < at.size(); ++i) t.append(naive::run(bytes[i]), at[i]);
    return t;
  }
};
Runs runs_of(const naive::Typemap& typemap) {
  Runs runs;
  for (const std::int64_t place : typemap.bytes) runs.add(place, 1);
  return runs;
}

Layout as_list(const Runs& runs) {
  return must(Layout::indexed(runs.bytes, runs.at, Layout::bytes(1)));
}
Layout as_struct(const Runs& runs) {
  std::vector<Layout> blocks;
  for (const std::int64_t n : runs.bytes) blocks.push_back(Layout::bytes(n));
  return must(Layout::composite(Vec(runs.at.size(), 1), runs.at, blocks));
}
Layout byte_by_byte(const Runs& runs) {
  return must(Layout::indexed_block(1, runs.typemap().bytes, Layout::bytes(1)));
}
/// Cut anywhere, also inside of a repetition.
Layout in_two_parts(const Runs& runs, std::size_t cut) {
  Runs parts[2];
  for (std::size_t i = 0; i < runs.at.size(); ++i) parts[i < cut ? 0 : 1].add(runs.at[i], runs.bytes[i]);
  return must(
      Layout::composite(Vec{1, 1}, Vec{0, 0}, std::vector<Layout>{as_list(parts[0]), as_struct(parts[1])}));
}
/// What the passes alone give, without the short way of lists.
Placed by_the_passes(const Runs& runs) {
  Pieces pieces;
  for (std::size_t i = 0; i < runs.at.size(); ++i) pieces.push_back({runs.at[i], runs.bytes[i], nullptr});
  return canonical_sequence(std::move(pieces));
}

/// The largest count of a strided node among the root and its parts.
std::int64_t longest_level(const Layout& layout) {
  const auto count = [](const Node& node) {
    return node.strided() != nullptr ? node.strided()->count : std::int64_t{0};
  };
  const auto* composite = std::get_if<Composite>(&layout.root().form);
  std::int64_t most = count(layout.root());
  if (composite != nullptr)
    for (const NodePtr& child : composite->children) most = std::max(most, count(*child));
  return most;
}

TEST(Repetition, of_structs_that_touch_is_a_level_of_one_form_for_any_number) {
  const Layout element = touching_struct();
  for (const std::int64_t n : {21, 100, 1000, 2000, 3000, 100000}) {
    const Layout layout = must(Layout::contiguous(n, element));
    EXPECT_EQ(to_string(layout.root()),
              "composite([blocks([1 at 0, 5 at 4]) at 0, strided(" + std::to_string(n - 1) +
                  ", 24, blocks([9 at 0, 5 at 12])) at 16, block(8) at " + std::to_string(24 * n - 8) + "])");
    EXPECT_EQ(layout.block_count(), 2 * n + 1);
    EXPECT_LE(encode(layout).size(), 32U);
  }
  for (const std::int64_t n : {2, 8, 20})
    EXPECT_TRUE(std::holds_alternative<Blocks>(must(Layout::contiguous(n, element)).root().form)) << n;
}

TEST(Repetition, of_structs_that_touch_has_one_tree_in_every_notation) {
  const Layout element = touching_struct();
  for (const std::int64_t n : {20, 21, 100, 1000, 2000, 2047}) {
    const Layout whole = must(Layout::contiguous(n, element));
    Runs runs;
    Vec at;
    for (std::int64_t i = 0; i < n; ++i) {
      at.push_back(24 * i);
      runs.add(24 * i, 1);
      runs.add(24 * i + 4, 5);
      runs.add(24 * i + 16, 8);
    }
    const Vec ones(at.size(), 1);
    const Layout notations[] = {
        must(Layout::vector(n, 1, 24, element)),
        must(Layout::indexed(ones, at, element)),
        must(Layout::composite(ones, at, std::vector<Layout>(at.size(), element))),
        must(Layout::composite(Vec{n - 5, 5}, Vec{0, 24 * (n - 5)}, std::vector<Layout>{element, element})),
        as_list(runs),
        as_struct(runs),
        byte_by_byte(runs),
        in_two_parts(runs, runs.at.size() / 3),
    };
    for (const Layout& other : notations)
      EXPECT_TRUE(same_memory(whole, other)) << n << "\n" << whole.to_string() << "\n" << other.to_string();
  }
}

TEST(Repetition, inside_an_irregular_list_is_found) {
  Random random(seed_of(0));
  for (const std::int64_t around : {100, 3000}) {  // below and beyond what is written out
    Runs runs;
    const auto add_irregular = [&] {
      for (std::int64_t i = 0; i < around; ++i)
        runs.add(runs.end() + 8 * random.in(1, 50), 8 * random.in(1, 9));
    };
    add_irregular();
    for (std::int64_t i = 0; i < 1500; ++i) {
      runs.add(runs.end() + 24, 8);
      runs.add(runs.end() + 16, 16);
    }
    add_irregular();
    const Layout layout = as_list(runs);
    EXPECT_GE(longest_level(layout), 1499) << layout.to_string();
    EXPECT_TRUE(same_memory(layout, as_struct(runs)));
    EXPECT_EQ(layout.block_count(), static_cast<std::int64_t>(runs.at.size()));
    EXPECT_LE(encode(layout).size(), static_cast<std::size_t>(2 * around * 4 + 100));
  }
}

/// A prefix, a group many times, a suffix; copies and ends touch or do not.
struct RandomRepetition {
  Runs runs;
  RandomType type;  ///< the same, of constructors
  std::int64_t period = 0, copies = 0;
};
RandomRepetition random_repetition(Random& random) {
  RandomRepetition out;
  out.period = random.in(1, random.one_in(3) ? 34 : 6);
  out.copies = random.one_in(3) ? random.in(1, 30) : random.in(20, 60);
  const bool may_touch = random.one_in(2), in_order = !random.one_in(4);
  naive::Typemap group;
  Vec ones, at;
  std::int64_t place = 0;
  for (std::int64_t i = 0; i < out.period; ++i) {
    const std::int64_t bytes = random.in(1, 6);
    at.push_back(place);
    ones.push_back(bytes);
    group.append(naive::run(bytes), place);
    place += bytes + random.in(1, 9);
    if (!in_order && random.one_in(3)) place -= random.in(1, 40);
  }
  const std::int64_t end_of_last = group.bytes.back() + 1;
  const std::int64_t step = may_touch ? end_of_last : end_of_last + random.in(1, 20);
  const Layout group_layout = must(Layout::indexed(ones, at, Layout::bytes(1)));
  const Layout copies = must(Layout::strided(out.copies, step, group_layout));

  const auto irregular = [&](std::int64_t n) {
    Runs runs;
    for (std::int64_t i = 0; i < n; ++i) runs.add(runs.end() + random.in(1, 30), random.in(1, 6));
    return runs;
  };
  const Runs before = irregular(random.in(0, 60)), behind = irregular(random.in(0, 60));
  const std::int64_t middle = before.end() + (random.one_in(2) ? 0 : random.in(1, 9));
  const std::int64_t end = middle + (out.copies - 1) * step + end_of_last;
  const std::int64_t last =
      end + (random.one_in(2) ? -1 : random.in(0, 9));  // `behind` begins 1 or more later
  naive::Typemap& all = out.type.typemap;
  all.append(before.typemap(), 0);
  for (std::int64_t i = 0; i < out.copies; ++i) all.append(group, middle + i * step);
  all.append(behind.typemap(), last);
  const auto part = [](const Runs& runs) { return runs.at.empty() ? Layout() : as_struct(runs); };
  out.type.layout = must(Layout::composite(Vec{1, 1, 1}, Vec{0, middle, last},
                                           std::vector<Layout>{part(before), copies, part(behind)}));
  out.type.how = std::to_string(out.copies) + " copies, " + std::to_string(step) + " apart, of " +
                 group_layout.to_string();
  out.runs = runs_of(all);
  return out;
}

TEST(Repetition, is_one_tree_however_it_is_written_and_keeps_order_size_and_bounds) {
  std::int64_t rolled = 0, lists = 0;
  for (std::int64_t round = 0; round < rounds(3000); ++round) {
    Random random(seed_of(round));
    const RandomRepetition made = random_repetition(random);
    const Layout& layout = made.type.layout;
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << ", " << made.type.how << "\n"
                                    << layout.to_string());
    const naive::Typemap& all = made.type.typemap;
    ASSERT_EQ(layout.size(), static_cast<std::int64_t>(all.bytes.size()));
    ASSERT_EQ(layout.true_lb(), all.true_lb());
    ASSERT_EQ(layout.true_ub(), all.true_ub());
    ASSERT_EQ(layout.block_count(), static_cast<std::int64_t>(made.runs.at.size()));
    const auto cut =
        static_cast<std::size_t>(random.in(1, static_cast<std::int64_t>(made.runs.at.size()) - 1));
    ASSERT_TRUE(same_memory(layout, as_list(made.runs))) << as_list(made.runs).to_string();
    ASSERT_TRUE(same_memory(layout, as_struct(made.runs)));
    ASSERT_TRUE(same_memory(layout, byte_by_byte(made.runs)));
    ASSERT_TRUE(same_memory(layout, in_two_parts(made.runs, cut)));
    const Placed passes = by_the_passes(made.runs);
    ASSERT_EQ(passes.displacement, layout.origin());
    ASSERT_TRUE(equal(*passes.node, layout.root())) << to_string(*passes.node);
    if (round % 10 == 0) check_type(made.type, random.in(1, 2), random);
    if (HasFatalFailure()) return;
    (longest_level(layout) > 0 ? rolled : lists) += 1;
  }
  if (rounds(3000) < 100) return;
  EXPECT_GT(rolled, rounds(3000) / 4);
  EXPECT_GT(lists, rounds(3000) / 20);
}

TEST(Repetition, in_lists_that_are_not_written_out_is_what_the_passes_find) {
  std::int64_t rolled = 0, lists = 0;
  for (std::int64_t round = 0; round < rounds(60); ++round) {
    Random random(seed_of(round));
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round));
    const std::int64_t kinds = random.in(0, 3);
    // Irregular blocks, and now and then some copies of a group: of blocks, or of short rows and blocks.
    Runs runs;
    while (static_cast<std::int64_t>(runs.at.size()) < 4200) {
      for (std::int64_t i = random.in(20, 200); i > 0; --i)
        runs.add(runs.end() + random.in(1, 60), random.in(1, 5));
      const std::int64_t period = random.in(1, 5), copies = random.in(5, kinds == 0 ? 12 : 60);
      Vec bytes, gaps, blocks;
      for (std::int64_t i = 0; i < period; ++i) {
        bytes.push_back(random.in(1, 5));
        gaps.push_back(random.in(1, 40));
        blocks.push_back(kinds == 2 && random.one_in(2) ? random.in(7, 11) : 1);
      }
      for (std::int64_t copy = 0; copy < copies; ++copy)
        for (std::size_t i = 0; i < bytes.size(); ++i)
          for (std::int64_t k = 0; k < blocks[i]; ++k)
            runs.add(runs.end() + gaps[i] + (k > 0 ? 1 : 3), bytes[i]);
    }
    const Layout list = as_list(runs);
    const Placed passes = by_the_passes(runs);
    ASSERT_EQ(list.origin(), passes.displacement);
    ASSERT_TRUE(equal(list.root(), *passes.node)) << list.to_string() << "\n" << to_string(*passes.node);
    (longest_level(list) > 0 ? rolled : lists) += 1;
  }
  if (rounds(60) < 60) return;
  EXPECT_GT(rolled, 0);
  EXPECT_GT(lists, 0);
}

TEST(Repetition, is_packed_and_transferred_in_order_between_copies_that_touch_and_instances) {
  for (std::int64_t round = 0; round < rounds(20); ++round) {
    Random random(seed_of(round));
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round));
    const std::int64_t n = random.in(21, 150);
    RandomType one{touching_struct(), {}, "struct"};
    for (const auto& [at, bytes] : {std::pair{0, 1}, {4, 5}, {16, 8}})
      one.typemap.append(naive::run(bytes), at);
    const RandomType many{must(Layout::contiguous(n, one.layout)), naive::instances(n, one.typemap),
                          "structs"};
    check_type(many, random.in(1, 2), random);
    check_transfer(many, 1, one, n, random);
    check_transfer(one, n, many, 1, random);
    const RandomRepetition a = random_repetition(random), b = random_repetition(random);
    check_transfer(a.type, random.in(1, 2), b.type, random.in(1, 2), random);
    if (HasFatalFailure()) return;
  }
}

/// The definition, place by place.
std::vector<Repetition> by_definition(const Vec& shapes, const Vec& at) {
  std::vector<Repetition> found;
  const std::size_t n = shapes.size();
  for (std::size_t p = 2; p <= kLongestPeriod && found.empty(); ++p) {
    const auto goes_on = [&](std::size_t i, std::size_t begin) {
      return i + p < n && shapes[i] == shapes[i + p] && at[i + p] - at[i] == at[begin + p] - at[begin];
    };
    for (std::size_t i = 0; i < n;) {
      std::size_t end = i;
      while (end + p < n && goes_on(end, i)) ++end;
      const std::size_t all = end > i ? end - i + p : 0;
      if (all / p >= least_copies(p)) {
        found.push_back({i, p, all / p, all % p});
        i += all;
      } else {
        i = std::max(end, i + 1);
      }
    }
  }
  return found;
}

TEST(Repetition, is_found_wherever_it_is_by_looking_at_few_places) {
  std::int64_t several = 0;
  for (std::int64_t round = 0; round < rounds(3000); ++round) {
    Random random(seed_of(round));
    Vec shapes, at;
    std::int64_t place = 0;
    while (shapes.size() < 400) {
      const std::int64_t period = random.in(1, random.one_in(2) ? 3 : 40), copies = random.in(1, 30);
      Vec shape, step;
      for (std::int64_t i = 0; i < period; ++i) {
        shape.push_back(random.in(1, 3));
        step.push_back(random.in(1, 3));
      }
      const std::int64_t elements = period * copies + random.in(0, period);
      for (std::int64_t i = 0; i < elements; ++i) {
        const auto k = static_cast<std::size_t>(i % period);
        shapes.push_back(shape[k]);
        at.push_back(place);
        place += step[k];
      }
    }
    std::int64_t questions = 0;
    const std::vector<Repetition> found = find_repetitions(
        shapes.size(),
        [&](std::size_t i, std::size_t j) {
          ++questions;
          return shapes[i] == shapes[j];
        },
        [&](std::size_t i, std::size_t j) { return at[j] - at[i]; });
    const std::vector<Repetition> expected = by_definition(shapes, at);
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].begin, expected[i].begin);
      EXPECT_EQ(found[i].period, expected[i].period);
      EXPECT_EQ(found[i].copies, expected[i].copies);
      EXPECT_EQ(found[i].spare, expected[i].spare);
    }
    EXPECT_LE(questions, static_cast<std::int64_t>(2 * kLongestPeriod * shapes.size()));
    several += found.size() > 1;
  }
  EXPECT_GT(several, 0);
  // What is irregular costs about a question for two elements.
  Random random(seed_of(0));
  Vec shapes;
  for (int i = 0; i < 100000; ++i) shapes.push_back(random.in(1, 1000));
  std::int64_t questions = 0;
  find_repetitions(
      shapes.size(), [&](std::size_t i, std::size_t j) { return ++questions, shapes[i] == shapes[j]; },
      [](std::size_t, std::size_t) { return std::int64_t{0}; });
  EXPECT_LT(questions, 50000);
}

TEST(Repetition, of_a_multiple_of_a_period_needs_no_fewer_elements) {
  for (std::size_t p = 2; p <= kLongestPeriod; ++p) {
    for (std::size_t q = 2 * p; q <= kLongestPeriod; q += p)
      EXPECT_GE(least_copies(q) * q / p, least_copies(p)) << p << " and " << q;
  }
}

}  // namespace
}  // namespace stria::datatype
