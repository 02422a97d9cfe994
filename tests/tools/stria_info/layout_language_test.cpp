// The layout language against the builders: what an expression means is said here by the constructor calls.
#include "tools/stria_info/layout_language.hpp"

#include <gtest/gtest.h>

#include <array>

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
  EXPECT_EQ(complaint("vektor(1)"),
            "layout, character 1: a type or a constructor expected, 'vektor(1)' found");
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
