// What the benchmarks' figures and payload checks rest on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <vector>

#include "osu_bench/common/cases.hpp"
#include "osu_bench/common/options.hpp"
#include "osu_bench/common/pattern.hpp"
#include "osu_bench/common/statistics.hpp"

namespace stria::bench {
namespace {

using testing::ElementsAre;

TEST(Statistics, the_99th_percentile_is_the_sample_that_99_of_100_do_not_exceed) {
  std::vector<double> samples;
  for (int i = 100; i >= 1; --i) samples.push_back(i);
  const Summary summary = summarise(samples);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.median, 50);
  EXPECT_EQ(summary.p99, 99);
  EXPECT_EQ(summary.average, 50.5);
  EXPECT_EQ(summarise({}).median, 0);
  EXPECT_EQ(summarise({7}).p99, 7);
}

TEST(Options, a_range_of_sizes_doubles_from_the_smallest_and_ends_with_the_largest) {
  EXPECT_THAT(size_range("8", 1), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(size_range("0:3", 1), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(size_range("1K:4K", 1), ElementsAre(1024, 2048, 4096));
  EXPECT_THROW(size_range("8:4", 1), std::invalid_argument);
  EXPECT_THROW(size_range("-1", 1), std::invalid_argument);
  EXPECT_THROW(size_range("3x", 1), std::invalid_argument);
  EXPECT_THROW(size_range("99999999999G", 1), std::invalid_argument);
}

TEST(Pattern, sees_a_byte_that_changed_moved_or_was_never_written) {
  std::vector<std::byte> bytes(256);
  EXPECT_FALSE(has_pattern(bytes.data(), 1, 1));
  fill_pattern(bytes.data(), bytes.size(), 1);
  EXPECT_TRUE(has_pattern(bytes.data(), bytes.size(), 1));
  EXPECT_FALSE(has_pattern(bytes.data(), bytes.size(), 2));
  EXPECT_FALSE(has_pattern(bytes.data() + 1, bytes.size() - 1, 1));
  bytes[200] ^= std::byte{1};
  EXPECT_FALSE(has_pattern(bytes.data(), bytes.size(), 1));
}

TEST(Cases, send_and_receive_the_same_number_of_bytes_without_touching_one_twice) {
  // The walk below keeps every offset.
  for (const Case& shape : datatype_cases({.largest = 1 << 20})) {
    SCOPED_TRACE(shape.name + " " + std::to_string(shape.parameter));
    EXPECT_EQ(shape.sent.size(), shape.received.size());
    for (const Recipe* side : {&shape.sent, &shape.received}) {
      std::set<std::int64_t> offsets;
      std::int64_t bytes = 0;
      const std::int64_t end = side->end();
      side->walk(0, [&](std::int64_t at, std::int64_t length) {
        EXPECT_TRUE(offsets.insert(at).second) << "offset " << at;
        EXPECT_GE(at, 0);
        EXPECT_LE(at + length, end);
        bytes += length;
      });
      EXPECT_EQ(bytes, side->size());
    }
  }
}

TEST(Cases, the_transposing_exchange_takes_columns_to_rows_and_back) {
  const auto offsets_of = [](const Recipe& shape) {
    std::vector<std::int64_t> offsets;
    shape.walk(0, [&](std::int64_t at, std::int64_t) { offsets.push_back(at); });
    return offsets;
  };
  const Case out = datatype_cases({.cases = {"transpose:256"}}).at(0);
  const auto columns = offsets_of(out.sent);
  ASSERT_EQ(columns.size(), 256U * 256U);
  EXPECT_EQ(columns[1], 256 * 8);    // the second of the first column is in the second row
  EXPECT_EQ(columns[256], 8);        // then comes the second column
  EXPECT_EQ(columns[257], 257 * 8);  // the diagonal stays
  const Case in = datatype_cases({.cases = {"transpose-in:256"}}).at(0);
  EXPECT_EQ(offsets_of(in.received), columns);
  EXPECT_EQ(offsets_of(in.sent), offsets_of(out.received));
}

TEST(Cases, that_describe_one_column_in_several_ways_touch_the_same_memory_in_the_same_order) {
  const auto offsets_of = [](const Case& shape) {
    std::vector<std::int64_t> offsets;
    shape.sent.walk(0, [&](std::int64_t at, std::int64_t) { offsets.push_back(at); });
    return offsets;
  };
  const std::vector<Case> all = datatype_cases({.cases = {"same-column"}});
  ASSERT_EQ(all.size(), 4U);
  for (const Case& shape : all) EXPECT_EQ(offsets_of(shape), offsets_of(all[0])) << shape.parameter;
}

TEST(Cases, are_chosen_by_name_and_parameter) {
  const auto names = [](const Selection& selection) {
    std::vector<std::string> all;
    for (const Case& shape : datatype_cases(selection))
      all.push_back(shape.name + std::to_string(shape.parameter));
    return all;
  };
  EXPECT_THAT(names({.cases = {"weather", "column:512"}}), ElementsAre("column512", "weather0", "weather1"));
  EXPECT_THAT(names({.cases = {"face", "struct"}, .parameters = {1, 100}}),
              ElementsAre("struct100", "face1"));
  EXPECT_THAT(names({.cases = {"column"}, .largest = 1024}), ElementsAre("column64", "column128"));
  EXPECT_NO_THROW(check_cases({.cases = {"weather", "column:512"}}));
  EXPECT_THROW(check_cases({.cases = {"colum"}}), std::invalid_argument);
  EXPECT_THROW(check_cases({.cases = {"column:3"}}), std::invalid_argument);
}

TEST(Cases, with_one_seed_are_the_same_and_with_another_are_not) {
  const auto length = [](std::uint64_t seed) {
    return datatype_cases({.cases = {"indexed:1000"}, .seed = seed}).at(0).sent.end();
  };
  EXPECT_EQ(length(1), length(1));
  EXPECT_NE(length(1), length(2));
}

}  // namespace
}  // namespace stria::bench
