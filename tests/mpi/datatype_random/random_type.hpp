// Random MPI datatypes with a typemap of their own. A type is grown from a signature (the sequence of basic
// types a message carries), so any two types grown from one signature may exchange messages. While the
// constructors are called, the typemap is walked naively from the MPI standard's definitions: that walk, not
// MPI_Pack, is the oracle.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/mpi/harness.hpp"

namespace mpitest {

/// Indexes into basic_types().
using BasicId = std::uint8_t;
using Signature = std::vector<BasicId>;

struct Basic {
  MPI_Datatype handle;
  const char* name;
  int bytes;
};
std::span<const Basic> basic_types();

/// One entry of a typemap: a basic type and its displacement in bytes.
struct Item {
  std::int64_t displacement;
  BasicId basic;
};

/// A datatype handle (freed here unless predefined) and what the standard says it means.
class RandomType {
 public:
  RandomType() = default;
  RandomType(RandomType&& other) noexcept { swap(other); }
  RandomType& operator=(RandomType&& other) noexcept {
    swap(other);
    return *this;
  }
  ~RandomType();
  void swap(RandomType& other) noexcept;

  MPI_Datatype handle = MPI_DATATYPE_NULL;
  bool predefined = false;
  bool marked = false;     // an ancestor was resized, a subarray or a darray: the bounds are explicit
  bool has_pair = false;   // contains MPI_DOUBLE_INT or its like
  std::int64_t lower = 0;  // lower and upper bound, bytes
  std::int64_t upper = 0;
  std::vector<Item> map;  // in typemap order
  std::string text;       // how it was made

  [[nodiscard]] std::int64_t extent() const noexcept { return upper - lower; }
};

/// Grows types. `spread` 0 makes no gaps; larger values make larger ones.
class TypeMaker {
 public:
  TypeMaker(Rng& rng, int spread) : rng_(rng), spread_(spread) {}
  /// A committed type whose signature is exactly `signature`, nested to about `depth`.
  RandomType make(std::span<const BasicId> signature, int depth);

 private:
  struct Blocks;
  RandomType grow(std::span<const BasicId> signature, int depth);
  RandomType flat(std::span<const BasicId> signature);
  RandomType leaf(BasicId basic);
  RandomType pair(std::span<const BasicId> signature);
  RandomType empty();
  RandomType split(std::span<const BasicId> signature, int depth);
  RandomType replicate(RandomType child, std::int64_t copies);
  RandomType contiguous(RandomType child, std::int64_t copies);
  RandomType vector(RandomType child, std::int64_t copies, bool in_bytes);
  RandomType indexed(RandomType child, std::int64_t copies, bool in_bytes);
  RandomType indexed_block(RandomType child, std::int64_t copies, bool in_bytes);
  RandomType struct_of_one(RandomType child, std::int64_t copies);
  RandomType subarray(RandomType child, std::int64_t copies);
  RandomType darray(RandomType child, std::int64_t copies);
  RandomType transposed(RandomType child, std::int64_t copies);
  RandomType resized(RandomType child);
  RandomType duplicate(RandomType child);

  Blocks blocks(std::int64_t copies, std::int64_t unit, bool equal_lengths);
  std::int64_t divisor(std::int64_t n);
  std::vector<int> factors(std::int64_t n, int dimensions);
  std::int64_t gap(std::int64_t unit);

  Rng& rng_;
  int spread_;
};

}  // namespace mpitest
