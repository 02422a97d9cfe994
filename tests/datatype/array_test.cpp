// Boxes of arrays beside the definition of MPI_Type_create_subarray taken literally: every element of the box
// in the order of the array, bounds of the whole array. Random ones of 1 to 5 dimensions, over children that
// have gaps, negative displacements, or bounds of their own.
#include "datatype/array.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "datatype/pack.hpp"
#include "naive_typemap.hpp"
#include "tests/rounds.hpp"

namespace stria::datatype {
namespace {

using Sizes = std::vector<std::int64_t>;

/// A child, and its typemap.
struct Child {
  Layout layout;
  naive::Typemap map;
};

Child child_of(unsigned kind) {
  switch (kind) {
    case 0:
      return {Layout::bytes(8), naive::run(8)};
    case 1:  // with a gap inside
      return {*Layout::vector(2, 1, 5, Layout::bytes(3)), naive::vector(2, 1, 5, naive::run(3))};
    case 2:  // begins below its address, instances overlap nothing
      return {*Layout::resized(Layout::bytes(4), -3, 10), naive::resized(naive::run(4), -3, 10)};
    case 3:  // of no bytes, but with an extent
      return {*Layout::resized(Layout::bytes(0), 0, 6), naive::resized(naive::run(0), 0, 6)};
    default:
      return {Layout::bytes(1), naive::run(1)};
  }
}

naive::Typemap box_of(const Sizes& sizes, const Sizes& subsizes, const Sizes& starts, ArrayOrder order,
                      const naive::Typemap& child) {
  naive::Typemap elements;
  elements.bytes = child.bytes;  // the child's markers are not the array's
  // The dimensions from the fastest to the slowest, and how far apart their indices are.
  std::vector<std::size_t> fastest_first;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    fastest_first.push_back(order == ArrayOrder::fortran ? i : sizes.size() - 1 - i);
  std::int64_t apart = child.extent();
  for (const std::size_t d : fastest_first) {
    naive::Typemap next;
    for (std::int64_t i = 0; i < subsizes[d]; ++i) next.append(elements, (starts[d] + i) * apart);
    elements = next;
    apart *= sizes[d];
  }
  return naive::resized(elements, 0, apart);
}

void expect_same(const Layout& layout, const naive::Typemap& map) {
  ASSERT_EQ(layout.size(), static_cast<std::int64_t>(map.bytes.size()));
  ASSERT_EQ(layout.lb(), map.lb());
  ASSERT_EQ(layout.extent(), map.extent());
  if (map.bytes.empty()) return;
  ASSERT_EQ(layout.true_lb(), map.true_lb());
  ASSERT_EQ(layout.true_extent(), map.true_ub() - map.true_lb());
  // Two instances: the order of the bytes, and the distance of the instances.
  const naive::Typemap two = naive::instances(2, map);
  const std::int64_t below = -std::min<std::int64_t>(0, two.true_lb());
  std::vector<std::byte> memory(static_cast<std::size_t>(below + two.true_ub()));
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>((i * 2654435761u) >> 13);
  std::vector<std::byte> packed(two.bytes.size());
  pack(range_of(layout, memory.data() + below, 2, 0, static_cast<std::int64_t>(packed.size())),
       packed.data());
  for (std::size_t i = 0; i < packed.size(); ++i)
    ASSERT_EQ(packed[i], memory[static_cast<std::size_t>(below + two.bytes[i])]) << "byte " << i;
}

TEST(Subarray, is_the_box_of_the_definition_of_mpi) {
  const auto seed = static_cast<std::uint64_t>(test::from_environment("STRIA_TEST_SEED", 20260));
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  for (std::int64_t round = 0; round < test::rounds(300); ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    const Child child = child_of(static_cast<unsigned>(below(5)));
    const auto dimensions = static_cast<std::size_t>(1 + below(5));
    Sizes sizes, subsizes, starts;
    for (std::size_t d = 0; d < dimensions; ++d) {
      sizes.push_back(1 + below(dimensions > 3 ? 4 : 7));
      subsizes.push_back(below(8) == 0 ? 0 : 1 + below(sizes[d]));  // now and then an empty box
      starts.push_back(below(sizes[d] - subsizes[d] + 1));
    }
    for (const ArrayOrder order : {ArrayOrder::c, ArrayOrder::fortran}) {
      const auto made = subarray(sizes, subsizes, starts, order, child.layout);
      ASSERT_TRUE(made) << made.error().context;
      ASSERT_NO_FATAL_FAILURE(expect_same(*made, box_of(sizes, subsizes, starts, order, child.map)));
    }
  }
}

TEST(Subarray, of_fortran_is_that_of_c_with_the_dimensions_turned) {
  const Sizes sizes = {5, 6, 7}, subsizes = {3, 2, 4}, starts = {1, 4, 2};
  const Sizes turned_sizes = {7, 6, 5}, turned_subsizes = {4, 2, 3}, turned_starts = {2, 4, 1};
  EXPECT_EQ(*subarray(sizes, subsizes, starts, ArrayOrder::c, Layout::bytes(8)),
            *subarray(turned_sizes, turned_subsizes, turned_starts, ArrayOrder::fortran, Layout::bytes(8)));
}

TEST(Subarray, of_the_whole_array_is_contiguous) {
  const Sizes sizes = {3, 4, 5}, starts = {0, 0, 0};
  EXPECT_EQ(*subarray(sizes, sizes, starts, ArrayOrder::c, Layout::bytes(8)), Layout::bytes(480));
}

TEST(Subarray, names_the_dimension_that_is_wrong) {
  const auto why = [](const Sizes& sizes, const Sizes& subsizes, const Sizes& starts) {
    const auto made = subarray(sizes, subsizes, starts, ArrayOrder::c, Layout::bytes(8));
    EXPECT_FALSE(made);
    return made ? std::string() : made.error().context;
  };
  EXPECT_EQ(why({}, {}, {}), "an array of 0 dimensions, the limits are 1 and 64");
  const Sizes many(65, 1), none(65, 0);
  EXPECT_EQ(why(many, many, none), "an array of 65 dimensions, the limits are 1 and 64");
  EXPECT_EQ(why({8, 8}, {8, 5}, {0, 4}), "dimension 1: subsize 5 from start 4 on does not fit into size 8");
  EXPECT_EQ(why({8, 8}, {-1, 8}, {0, 0}), "dimension 0: subsize -1 from start 0 on does not fit into size 8");
  EXPECT_EQ(why({8, 8}, {8, 1}, {0, -1}), "dimension 1: subsize 1 from start -1 on does not fit into size 8");
  EXPECT_EQ(why({-8}, {0}, {0}), "dimension 0: subsize 0 from start 0 on does not fit into size -8");
  constexpr std::int64_t kLong = std::int64_t{1} << 40;
  EXPECT_EQ(why({kLong, kLong}, {1, 1}, {0, 0}), "dimension 0: the array's size in bytes exceeds 64 bits");
}

}  // namespace
}  // namespace stria::datatype
