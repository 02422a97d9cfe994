// What the collectives of a mix are made from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>

#include "osu_bench/common/pattern.hpp"
#include "osu_bench/mpi/collectives.hpp"

namespace stria::bench {

/// The same numbers wherever it runs, unlike the distributions of <random>.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t n) { return n < 2 ? 0 : engine_() % n; }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  std::mt19937_64 engine_;
};

struct Draw {
  MPI_Comm comm;
  int rank;
  int size;
  std::uint64_t key;
  int count;
  int root;
  bool nonblocking;
  bool one_alltoall_layout;

  /// What rank `of` contributes as element i: small, so that sums of doubles are exact, and never negative.
  long value(int of, int i) const {
    return static_cast<long>(
        pattern_at(key + static_cast<std::uint64_t>(of) * 1000003, static_cast<std::uint64_t>(i)));
  }
};

inline std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// A reduction of ints, longs or doubles by sum, maximum or minimum.
Collective draw_reduction(const Draw& draw, Dice& dice);
/// One by `op`, which does not commute, over `type`, a pair of ints.
Collective draw_ordered_reduction(const Draw& draw, MPI_Op op, MPI_Datatype type);
/// The function of such an operation: composition of x -> a x + b modulo 65521.
void compose_affine(void* in, void* inout, int* length, MPI_Datatype* type);
/// A broadcast, gather, scatter or exchange of ints, by `spaced`, which has a gap after each, on one side.
Collective draw_movement(const Draw& draw, Dice& dice, MPI_Datatype spaced);

}  // namespace stria::bench
