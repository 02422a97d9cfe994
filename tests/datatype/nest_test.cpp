// Two loops over blocks where one side has its neighbours in the other loop: which order is taken, and that
// what squares leave over is copied in long rows. What that is worth is measured (docs/notebook/kernels.md).
#include "datatype/kernels/nest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "datatype/kernels/table.hpp"
#include "tests/datatype/tables.hpp"

namespace stria::datatype::kernel {
namespace {

constexpr std::int64_t kFar = 8192;

/// `outer` columns of `inner` doubles each, to a stream.
Nest columns(std::int64_t outer, std::int64_t inner, Address from = 0, Address to = 0) {
  return {from, 8, kFar, to, inner * 8, 8, outer, inner, 8};
}

TEST(Nest, is_one_loop_where_one_of_both_is_one_element) {
  EXPECT_EQ(order_of(columns(1, 1024)), Order::rows);
  EXPECT_EQ(order_of(swap_loops(columns(1, 1024))), Order::swapped) << "the one long loop is the outer one";
  EXPECT_EQ(order_of({0, 8, 8, 0, 8, 8, 1, 1, 8}), Order::rows);
}

TEST(Nest, is_turned_from_two_columns_on) {
  EXPECT_EQ(order_of(columns(2, 1024)), Order::tiles);
  EXPECT_EQ(order_of(columns(1024, 2)), Order::swapped) << "two rows, read along their lines";
  EXPECT_EQ(order_of(columns(1024, 3)), Order::swapped);
  EXPECT_EQ(order_of(columns(3, 3)), Order::tiles);
  Nest scattered = columns(2, 1024);
  std::swap(scattered.from_outer, scattered.to_outer);
  std::swap(scattered.from_inner, scattered.to_inner);
  EXPECT_EQ(order_of(scattered), Order::swapped_tiles);
}

std::int64_t calls, least_row;
void row(Address from, std::int64_t from_stride, Address to, std::int64_t to_stride, std::int64_t count,
         std::int64_t bytes) noexcept {
  ++calls;
  least_row = std::min(least_row, count);
  for (; count > 0; --count, from = moved(from, from_stride), to = moved(to, to_stride))
    std::memcpy(at(to), at(from), static_cast<std::size_t>(bytes));
}

TEST(Nest, copies_what_squares_leave_over_in_rows_along_the_longer_side) {
  constexpr std::int64_t kLong = 64;
  std::vector<double> matrix(kLong * (kFar / 8)), stream(kLong * 16);
  for (const bool scatters : {false, true})
    for (std::int64_t few = 2; few <= 15; ++few) {
      Nest n = columns(few, kLong, reinterpret_cast<Address>(matrix.data()),
                       reinterpret_cast<Address>(stream.data()));
      if (scatters) {
        std::swap(n.from, n.to);
        std::swap(n.from_outer, n.to_outer);
        std::swap(n.from_inner, n.to_inner);
      }
      calls = 0, least_row = kLong;
      nest<&row, Fixed<8>, Plain<Fixed<8>, 8>, Plain<Fixed<8>, 8>>(Fixed<8>(8), n);
      EXPECT_EQ(calls, few % 2) << few << " columns: squares of 8, 4 and 2 leave at most one";
      EXPECT_EQ(least_row, kLong) << few;
    }
}

/// Every width that squares leave something of, by every table, both ways, no byte beside.
TEST(Nest, moves_every_block_of_any_few_columns) {
  constexpr std::int64_t kRows[] = {1, 2, 3, 5, 8, 9, 15, 17, 63, 64, 65, 71};
  for (const Kernels& table : all_tables())
    for (const std::int64_t bytes : {1, 2, 3, 4, 8, 12, 16, 24, 32, 40})
      for (std::int64_t few = 1; few <= 19; ++few)
        for (const std::int64_t inner : kRows) {
          const std::int64_t pitch = 20 * bytes + 24;
          std::vector<unsigned char> matrix(static_cast<std::size_t>(inner * pitch));
          for (std::size_t i = 0; i < matrix.size(); ++i)
            matrix[i] = static_cast<unsigned char>(i * 31 + i / 253);
          std::vector<unsigned char> stream(static_cast<std::size_t>(few * inner * bytes)), wanted;
          for (std::int64_t o = 0; o < few; ++o)
            for (std::int64_t i = 0; i < inner; ++i)
              wanted.insert(wanted.end(), matrix.begin() + i * pitch + o * bytes,
                            matrix.begin() + i * pitch + (o + 1) * bytes);
          const auto memory = reinterpret_cast<Address>(matrix.data());
          const auto packed = reinterpret_cast<Address>(stream.data());
          const Nest gather{memory, bytes, pitch, packed, inner * bytes, bytes, few, inner, bytes};
          table.nest[width_of(bytes)](gather);
          ASSERT_EQ(stream, wanted) << table.name << ", " << few << " x " << inner << " of " << bytes;
          std::vector<unsigned char> expected(matrix.size(), 0xee);
          for (std::int64_t o = 0, k = 0; o < few; ++o)
            for (std::int64_t i = 0; i < inner; ++i, ++k)
              std::copy_n(wanted.begin() + k * bytes, bytes, expected.begin() + i * pitch + o * bytes);
          std::fill(matrix.begin(), matrix.end(), 0xee);
          table.nest[width_of(bytes)](
              {packed, inner * bytes, bytes, memory, bytes, pitch, few, inner, bytes});
          ASSERT_EQ(matrix, expected) << table.name << ", " << few << " x " << inner << " of " << bytes;
        }
}

}  // namespace
}  // namespace stria::datatype::kernel
