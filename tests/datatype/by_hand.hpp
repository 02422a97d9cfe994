// The loops that an application would write instead of a derived type. They are compiled for this very
// machine with -O3, so that a kernel which is chosen at run time has to beat the best that a compiler makes
// of plain source.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stria::by_hand {

/// `count` blocks of `doubles`, `stride` doubles apart.
void gather(const double* from, std::int64_t stride, std::int64_t doubles, std::int64_t count, double* to);
void scatter(const double* from, double* to, std::int64_t stride, std::int64_t doubles, std::int64_t count);

/// Blocks of lengths[i] doubles at places[i].
void gather_list(const double* from, const int* places, const int* lengths, std::int64_t n, double* to);
void scatter_list(const double* from, double* to, const int* places, const int* lengths, std::int64_t n);

void move_list(const double* from, double* to, const int* places, const int* lengths, std::int64_t n);

/// Blocks of lengths[i] bytes at places[i].
void gather_bytes(const std::byte* from, const std::int64_t* places, const std::int64_t* lengths,
                  std::int64_t n, std::byte* to);
void scatter_bytes(const std::byte* from, std::byte* to, const std::int64_t* places,
                   const std::int64_t* lengths, std::int64_t n);

/// Elements chosen[0..n) of five arrays of `room` elements, which lie one behind the other.
inline constexpr std::int64_t kElementBytes[] = {24, 4, 4, 4, 8};
inline constexpr std::size_t kArrays = 5;
void gather_particles(const std::byte* from, std::int64_t room, const std::int64_t* chosen, std::int64_t n,
                      std::byte* to);
void scatter_particles(const std::byte* from, std::byte* to, std::int64_t room, const std::int64_t* chosen,
                       std::int64_t n);

struct Record {
  double d;
  int i;
  char c;
};
void gather_records(const Record* from, std::int64_t n, std::byte* to);
void scatter_records(const std::byte* from, Record* to, std::int64_t n);

/// to[j][i] = from[i][j] for n x n doubles.
void transpose(const double* from, std::int64_t n, double* to);

/// Column to column of two matrices.
void move_column(const double* from, std::int64_t from_stride, double* to, std::int64_t to_stride,
                 std::int64_t n);

}  // namespace stria::by_hand
