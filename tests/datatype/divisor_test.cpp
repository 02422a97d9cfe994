// Quotients by a Divisor against those of the processor.
#include "datatype/divisor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "tests/datatype/random_type.hpp"

namespace stria::datatype {
namespace {

void check(std::int64_t v, std::int64_t d) {
  ASSERT_EQ(Divisor(d).quotient(v), v / d) << v << " / " << d;
}

TEST(Divisor, divides_exactly_what_lies_beside_a_multiple) {
  for (std::int64_t round = 0; round < rounds(50000); ++round) {
    Random random(seed_of(round));
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round));
    const std::int64_t d = std::max<std::int64_t>(random.in(1, INT64_MAX) >> random.in(0, 62), 1);
    const std::int64_t multiple = random.in(0, INT64_MAX / d) * d;
    check(multiple, d);
    check(std::max<std::int64_t>(multiple - 1, 0), d);
    check(random.in(0, INT64_MAX) >> random.in(0, 62), d);
  }
}

TEST(Divisor, divides_the_least_and_the_greatest_numbers) {
  for (int bit = 0; bit < 63; ++bit)
    for (std::int64_t d = (std::int64_t{1} << bit) - 1; d <= (std::int64_t{1} << bit); ++d)
      for (const std::int64_t v : {std::int64_t{0}, std::int64_t{1}, d - 1, d, INT64_MAX - 1, INT64_MAX})
        if (d > 0) check(v, d);
  check(INT64_MAX, INT64_MAX);
  check(INT64_MAX - 1, INT64_MAX);
}

}  // namespace
}  // namespace stria::datatype
