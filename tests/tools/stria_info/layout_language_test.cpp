// The layout language against the builders: what an expression means is said here by the constructor calls.
#include "tools/stria_info/layout_language.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace stria::info {
namespace {

using datatype::Layout;

Layout parsed(std::string_view text) {
  auto layout = parse_layout(text);
  EXPECT_TRUE(layout.has_value()) << text << ": " << (layout ? "" : layout.error().context);
  return layout ? *layout : Layout();
}
std::string complaint(std::string_view text) {
  const auto layout = parse_layout(text);
  EXPECT_FALSE(layout.has_value()) << text;
  return layout ? "" : layout.error().context;
}

TEST(LayoutLanguage, types_have_the_sizes_of_c) {
  EXPECT_EQ(parsed("char").size(), 1);
  EXPECT_EQ(parsed("short").size(), static_cast<std::int64_t>(sizeof(short)));
  EXPECT_EQ(parsed("int").size(), static_cast<std::int64_t>(sizeof(int)));
  EXPECT_EQ(parsed("float").size(), static_cast<std::int64_t>(sizeof(float)));
  EXPECT_EQ(parsed("long").size(), static_cast<std::int64_t>(sizeof(long)));
  EXPECT_EQ(parsed("double").size(), static_cast<std::int64_t>(sizeof(double)));
  EXPECT_EQ(parsed("complex").size(), static_cast<std::int64_t>(2 * sizeof(double)));
}

TEST(LayoutLanguage, constructors_are_those_of_the_library) {
  const Layout item = Layout::bytes(8);
  EXPECT_EQ(parsed("bytes(8)"), item);
  EXPECT_EQ(parsed("contiguous(3, double)"), *Layout::contiguous(3, item));
  EXPECT_EQ(parsed("vector(512, 2, 4096, double)"), *Layout::vector(512, 2, 4096, item));
  EXPECT_EQ(parsed("vector(5,1,-64,double)"), *Layout::vector(5, 1, -64, item));
  EXPECT_EQ(parsed(" resized ( int , -4 , 32 ) "), *Layout::resized(Layout::bytes(4), -4, 32));
  const std::array<std::int64_t, 3> lengths = {2, 1, 4};
  const std::array<std::int64_t, 3> places = {0, 640, -128};
  EXPECT_EQ(parsed("indexed([2, 1, 4], [0, 640, -128], double)"), *Layout::indexed(lengths, places, item));
}

TEST(LayoutLanguage, every_constructor_of_mpi_has_a_name) {
  const Layout item = Layout::bytes(8);
  const std::array<std::int64_t, 3> places = {0, 640, -128};
  EXPECT_EQ(parsed("hvector(512, 2, 4096, double)"), *Layout::vector(512, 2, 4096, item));
  EXPECT_EQ(parsed("indexed_block(2, [0, 640, -128], double)"), *Layout::indexed_block(2, places, item));
  EXPECT_EQ(parsed("hindexed_block(2, [0, 640, -128], double)"), *Layout::indexed_block(2, places, item));
  EXPECT_EQ(parsed("hindexed([2, 1], [0, 640], double)"), parsed("indexed([2, 1], [0, 640], double)"));
  EXPECT_EQ(parsed("struct(0: int, 8: 3 * double)"), parsed("composite(0: int, 8: 3 * double)"));
  EXPECT_EQ(parsed("dup(resized(int, -4, 32))"), *Layout::resized(Layout::bytes(4), -4, 32));
}

/// Bytes [begin, begin + bytes) of each element of an array that `has(i, j, k)`, in the order of memory.
template <class Has>
Layout elements_of(std::array<std::int64_t, 3> sizes, std::int64_t bytes, Has has) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < sizes[0]; ++i)
    for (std::int64_t j = 0; j < sizes[1]; ++j)
      for (std::int64_t k = 0; k < sizes[2]; ++k)
        if (has(i, j, k)) places.push_back(((i * sizes[1] + j) * sizes[2] + k) * bytes);
  const Layout made = *Layout::indexed_block(1, places, Layout::bytes(bytes));
  return *Layout::resized(made, 0, sizes[0] * sizes[1] * sizes[2] * bytes);
}

TEST(LayoutLanguage, a_subarray_is_its_elements_with_the_bounds_of_the_array) {
  const auto within = [](std::int64_t x, std::int64_t begin, std::int64_t n) {
    return begin <= x && x < begin + n;
  };
  const Layout part = elements_of({5, 6, 7}, 8, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    return within(i, 1, 3) && within(j, 4, 2) && within(k, 2, 4);
  });
  EXPECT_EQ(parsed("subarray([5, 6, 7], [3, 2, 4], [1, 4, 2], double)"), part);
  EXPECT_EQ(parsed("subarray([5, 6, 7], [3, 2, 4], [1, 4, 2], double, c)"), part);
  EXPECT_EQ(parsed("subarray([7, 6, 5], [4, 2, 3], [2, 4, 1], double, fortran)"), part);
  EXPECT_EQ(parsed("subarray([2K, 2K], [2K, 1], [0, 3], double)"),
            *Layout::resized(parsed("composite(24: vector(2K, 1, 16K, double))"), 0, 2048 * 2048 * 8));
  EXPECT_EQ(parsed("subarray([9], [0], [9], int)"), *Layout::resized(Layout(), 0, 36));
  EXPECT_EQ(parsed("contiguous(2, subarray([4], [1], [1], int))").true_lb(), 4);
  EXPECT_EQ(parsed("contiguous(2, subarray([4], [1], [1], int))").true_extent(), 20);
}

TEST(LayoutLanguage, a_darray_is_what_the_process_has_of_the_array) {
  // A grid of 2 by 1 by 3: rank 4 is at 1, 0, 1, whatever the order of the array is.
  const auto has = [](std::int64_t i, std::int64_t, std::int64_t k) { return i >= 3 && k / 2 % 3 == 1; };
  EXPECT_EQ(parsed("darray(6, 4, [5, 4, 9], [block, none, cyclic(2)], [2, 1, 3], int)"),
            elements_of({5, 4, 9}, 4, has));
  EXPECT_EQ(parsed("darray(6, 4, [5, 4, 9], [block(3), none, cyclic(2)], [2, 1, 3], int, fortran)"),
            elements_of({9, 4, 5}, 4, [&](auto k, auto j, auto i) { return has(i, j, k); }));
  EXPECT_EQ(parsed("darray(3, 2, [7], [cyclic], [3], int)"),
            elements_of({1, 1, 7}, 4, [](auto, auto, auto k) { return k % 3 == 2; }));
  EXPECT_EQ(parsed("darray(4, 3, [5], [block], [4], int)").size(), 0) << "two each: nothing is left";
  std::int64_t bytes = 0;
  for (const char* rank : {"0", "1", "2", "3", "4", "5"})
    bytes += parsed(std::string("darray(6, ") + rank + ", [17, 11], [cyclic(3), block], [3, 2], int)").size();
  EXPECT_EQ(bytes, 17 * 11 * 4) << "each element is somebody's";
}

TEST(LayoutLanguage, arrays_that_cannot_be_are_refused_by_what_is_wrong) {
  EXPECT_EQ(complaint("subarray([8, 8], [2], [0, 0], int)"), "subarray: 2 sizes, but 1 sizes of the part");
  EXPECT_EQ(complaint("subarray([8, 8], [2, 2], [0], int)"), "subarray: 2 sizes, but 1 starts");
  EXPECT_EQ(complaint("subarray([], [], [], int)"), "subarray: an array without dimensions");
  EXPECT_EQ(complaint("subarray([8], [4], [5], int)"),
            "subarray: dimension 0: subsize 4 from start 5 on does not fit into size 8");
  EXPECT_EQ(complaint("subarray([8], [-1], [5], int)"),
            "subarray: dimension 0: subsize -1 from start 5 on does not fit into size 8");
  EXPECT_EQ(complaint("subarray([8], [4], [0], int, pascal)"),
            "layout, character 30: c or fortran expected, 'pascal)' found");
  EXPECT_EQ(complaint("darray(5, 0, [8, 8], [block, block], [2, 2], int)"),
            "darray: a grid of 4 for 5 processes");
  EXPECT_EQ(complaint("darray(4, 4, [8], [block], [4], int)"), "darray: rank 4 of 4");
  EXPECT_EQ(complaint("darray(4, 0, [8], [none], [4], int)"),
            "darray: a dimension of 4 processes that is not distributed");
  EXPECT_EQ(complaint("darray(4, 0, [8], [block(1)], [4], int)"),
            "darray: 4 processes with blocks of 1 leave some of 8");
  EXPECT_EQ(complaint("darray(4, 0, [8], [slices], [4], int)"),
            "layout, character 20: block, cyclic or none expected, 'slices], [4]' found");
  complaint("darray(0, 0, [8], [block], [0], int)");
  complaint("darray(2, 0, [8, 8], [block], [2], int)");
  complaint("darray(1, 0, [4G*2G], [cyclic], [1], int)");
  complaint("subarray([4G, 4G], [4G, 4G], [0, 0], double)");
}

TEST(LayoutLanguage, composite_children_may_be_counted_and_nested) {
  const std::array<std::int64_t, 3> counts = {1, 3, 2};
  const std::array<std::int64_t, 3> places = {0, 8, 64};
  const std::array<Layout, 3> children = {Layout::bytes(4), Layout::bytes(8),
                                          *Layout::vector(2, 1, 16, Layout::bytes(1))};
  EXPECT_EQ(parsed("composite(0: int, 8: 3 * double, 64: 2*vector(2, 1, 16, char))"),
            *Layout::composite(counts, places, children));
}

TEST(LayoutLanguage, numbers_carry_units_and_multiply) {
  EXPECT_EQ(parsed("bytes(2K)").size(), 2048);
  EXPECT_EQ(parsed("bytes(3M)").size(), 3 << 20);
  EXPECT_EQ(parsed("bytes(5G)").size(), std::int64_t{5} << 30);
  EXPECT_EQ(parsed("bytes(2K*8 * 3)").size(), 2048 * 24);
  EXPECT_EQ(parsed("vector(2K, 1, 2K*8, double)"), *Layout::vector(2048, 1, 16384, Layout::bytes(8)));
}

TEST(LayoutLanguage, errors_say_where_and_what_was_expected) {
  EXPECT_EQ(
      complaint("contiguous(2, vektor(1))"),
      "layout, character 15: nothing is called 'vektor'; there are char, int8, short, int16, int, int32, "
      "float, int64, long, double, complex, bytes, contiguous, vector, hvector, indexed, hindexed, "
      "indexed_block, hindexed_block, composite, struct, subarray, darray, resized, dup");
  EXPECT_EQ(complaint("contiguous(2, (1))"),
            "layout, character 15: a type or a constructor expected, '(1))' found");
  EXPECT_EQ(complaint("vector(2, 1, 8 double)"), "layout, character 16: ',' expected, 'double)' found");
  EXPECT_EQ(complaint("bytes(8"), "layout, character 8: ')' expected, the end found");
  EXPECT_EQ(complaint("bytes(x)"), "layout, character 7: a number expected, 'x)' found");
  EXPECT_EQ(complaint("double double"),
            "layout, character 8: the end of the expression expected, 'double' found");
  EXPECT_NE(complaint("indexed([1, 2], [0], int)").find("2 block lengths, but 1 displacements"),
            std::string::npos);
  EXPECT_NE(complaint("bytes(-1)").find("-1"), std::string::npos);
  EXPECT_NE(complaint("contiguous(-3, int)").find("-3"), std::string::npos);
}

TEST(LayoutLanguage, hostile_text_is_refused_and_not_followed) {
  complaint("");
  complaint("(");
  complaint("vector");
  complaint("bytes(99999999999999999999)");
  complaint("bytes(9223372036854775807K)");
  complaint("bytes(4G*4G)");
  complaint("contiguous(4G, contiguous(4G, bytes(1G)))");
  complaint("indexed([1,], [0], int)");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "contiguous(2, ";
  complaint(deep);
}

}  // namespace
}  // namespace stria::info
