// The communicators of a campaign. On one of them the ranks count backwards; the transient one is freed and
// made anew while messages are in flight on it, with ranks that count either way.
#pragma once

#include <mpi.h>

#include <array>

#include "tests/mpi/p2p_random/plan.hpp"

namespace p2p_random {

class Communicators {
 public:
  /// Collective over `base`, which gives the campaign's own ranks.
  explicit Communicators(MPI_Comm base);
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;
  ~Communicators();

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  [[nodiscard]] MPI_Comm base() const noexcept { return base_; }
  [[nodiscard]] MPI_Comm operator[](int comm) const { return comms_.at(static_cast<std::size_t>(comm)); }

  /// The name that a rank has there, and back: the same function. MPI_ANY_SOURCE stays what it is.
  [[nodiscard]] int named(int comm, int rank) const;
  /// Frees the transient communicator and makes the next one, which takes its place when the round is over,
  /// as what was received still has the names of the old. Collective.
  void renew_transient();
  void end_round();

 private:
  [[nodiscard]] MPI_Comm copy_of(int comm) const;

  MPI_Comm base_;
  int rank_ = 0;
  int ranks_ = 1;
  bool transient_reversed_ = false;
  std::array<MPI_Comm, kComms> comms_{};
  MPI_Comm next_transient_ = MPI_COMM_NULL;
};

}  // namespace p2p_random
