// One drawn exchange: a signature of a chosen size, the type it is sent as, the type it is received as, and
// the memory on both sides. Every rank draws the same case from (seed, number), so the receiver knows what
// was sent.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <vector>

#include "tests/mpi/datatype_random/random_type.hpp"

namespace mpitest {

/// `count` instances of a type in memory of exactly their span, between guards, at a drawn misalignment.
class Side {
 public:
  Side() = default;
  Side(RandomType type, int count, std::size_t misalignment);
  /// What MPI calls the buffer: the type's origin, which may lie outside of the data.
  [[nodiscard]] void* origin() noexcept { return memory_.data() + origin_; }
  [[nodiscard]] std::byte* at(std::int64_t displacement) noexcept {
    return memory_.data() + origin_ + displacement;
  }
  [[nodiscard]] const std::byte* at(std::int64_t displacement) const noexcept {
    return memory_.data() + origin_ + displacement;
  }
  std::pmr::vector<std::byte>& memory() noexcept { return memory_; }
  [[nodiscard]] const std::pmr::vector<std::byte>& memory() const noexcept { return memory_; }
  [[nodiscard]] std::int64_t displacement(std::size_t item) const noexcept;

  RandomType type;
  int count = 0;

 private:
  std::pmr::vector<std::byte> memory_;  // of MPI_Alloc_mem, if main() says so
  std::int64_t origin_ = 0;
};

struct Case {
  std::uint64_t number = 0;
  std::uint64_t key = 0;    // of the sent bytes
  std::uint64_t bytes = 0;  // of the message
  Signature signature;      // of the message
  std::size_t spare = 0;    // further items for which the receive has room
  Side sent;
  Side received;
  [[nodiscard]] std::string text() const;
};

/// Leaves out what is known to break Open MPI's own convertor (README.md says what); for runs over other
/// layers.
void avoid_peer_bugs();

/// Draws case `number` of `seed` with a message of `bytes` bytes.
Case draw_case(std::uint64_t seed, std::uint64_t number, std::uint64_t bytes);

/// The sender's memory before the send.
void fill_sent(Case& c);
/// Marks the receiver's memory, so that a write into a gap is seen.
void fill_received(Case& c);
/// Compares the receiver's whole memory with the typemap walk, and the status with the signature.
void check_received(const Case& c, const MPI_Status& status, int source, int tag);
/// The sender's memory is as before.
void check_sent(const Case& c);

}  // namespace mpitest
