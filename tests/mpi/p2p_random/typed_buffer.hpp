// The memory of one operation as a random type sees it: of malloc, of MPI_Alloc_mem or pages, which
// a sender gets read-only. One image, the memory as it has to be, serves to fill a send buffer and
// to judge a receive buffer.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/mpi/p2p_random/layout.hpp"

namespace p2p_random {

class Memory {
 public:
  Memory(mpitest::Rng& rng, std::size_t bytes);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();
  [[nodiscard]] std::byte* data() noexcept { return base_ + offset_; }
  [[nodiscard]] const std::byte* data() const noexcept { return base_ + offset_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  /// A write faults from here on, where the memory can be protected.
  void make_read_only();

 private:
  enum class Kind { heap, mpi, pages, kinds };
  Kind kind_;
  std::size_t bytes_;
  std::size_t offset_ = 0;  // breaks the alignment
  std::byte* base_ = nullptr;
};

class TypedBuffer {
 public:
  TypedBuffer(mpitest::Rng& rng, std::uint64_t bytes);

  /// What MPI is told.
  [[nodiscard]] void* origin() noexcept { return origin_; }
  [[nodiscard]] int count() const noexcept { return layout_.count; }
  [[nodiscard]] MPI_Datatype type() const noexcept { return layout_.type.get(); }
  /// MPI keeps the type as long as operations need it.
  void free_type() { layout_.type.reset(); }

  /// Puts in the pattern `key`; the memory is read-only from here on, if it can be.
  void fill(std::uint64_t key);
  /// The first `bytes` bytes in typemap order are the pattern's, all others as they were at the start.
  [[nodiscard]] bool holds(std::uint64_t key, std::uint64_t bytes) const;
  /// Nothing outside of the typemap was written; what is inside after an error MPI does not say.
  [[nodiscard]] bool untouched_outside() const;
  /// For messages of failed checks.
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] std::vector<std::byte> image(std::uint64_t key, std::uint64_t bytes) const;
  [[nodiscard]] std::size_t index(const Run& run) const noexcept {
    return static_cast<std::size_t>(run.displacement - low_);
  }

  std::uint64_t bytes_;
  Layout layout_;
  std::int64_t low_;  // the displacement of the memory's first byte
  Memory memory_;
  void* origin_ = nullptr;
};

}  // namespace p2p_random
