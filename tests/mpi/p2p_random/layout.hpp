// Random MPI types over bytes, and the places they name. Everything is made of MPI_BYTE, so a message may be
// received with any type, whoever sent it: with wildcards nobody knows that beforehand. The walk is kept as
// runs of bytes, not as single items, so that messages of a MiB are cheap.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/mpi/harness.hpp"

namespace p2p_random {

/// Bytes [displacement, displacement + bytes) relative to the type's origin.
struct Run {
  std::int64_t displacement;
  std::int64_t bytes;
};

/// A datatype handle, freed at the end.
class OwnedType {
 public:
  OwnedType() = default;
  explicit OwnedType(MPI_Datatype handle) : handle_(handle) {}
  OwnedType(OwnedType&& other) noexcept : handle_(std::exchange(other.handle_, MPI_DATATYPE_NULL)) {}
  OwnedType& operator=(OwnedType&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~OwnedType() { reset(); }
  [[nodiscard]] MPI_Datatype get() const noexcept { return handle_; }
  void reset() {
    if (handle_ != MPI_DATATYPE_NULL) MPI_Type_free(&handle_);
  }

 private:
  MPI_Datatype handle_ = MPI_DATATYPE_NULL;
};

/// `count` of a type, and what they name in typemap order. The type is not committed.
struct Layout {
  OwnedType type;
  int count = 0;
  std::vector<Run> runs;
};

/// A layout of `bytes` bytes that names no byte twice.
Layout draw_layout(mpitest::Rng& rng, std::uint64_t bytes);

/// The lowest byte, and the one behind the highest; {0, 0} without bytes.
std::pair<std::int64_t, std::int64_t> bounds(const std::vector<Run>& runs);

}  // namespace p2p_random
