// A mix of collectives drawn at random: operation, root, counts, types and reduction, blocking or not, each
// with its buffers and an answer that every process computes by itself, as all know what all contribute. What
// is drawn is the same on every rank, and the same again from the same seed. The tests run it for the
// answers, osu_collectives for the time.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>

namespace stria::bench {

/// One collective call of a mix. Buffers are its own; the calls may be repeated: prepare(), run(), wrong().
class Collective {
 public:
  std::string name;
  std::function<void()> prepare;            ///< Buffers as they are before the call. Local.
  std::function<void(MPI_Request&)> call;   ///< The call alone; a non-blocking one leaves its request.
  std::function<std::string()> check;       ///< What is wrong with what came; empty when nothing is. Local.
  MPI_Comm barrier_behind = MPI_COMM_NULL;  ///< Where a barrier follows.

  /// Collective; nothing but calls of MPI.
  void run() const {
    MPI_Request request = MPI_REQUEST_NULL;
    call(request);
    if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (barrier_behind != MPI_COMM_NULL) MPI_Barrier(barrier_behind);
  }
};

class CollectivesMix {
 public:
  struct Traits {
    std::uint64_t seed;
    std::uint64_t largest;  ///< elements that one process gives to one other, or to a sum
    /// Whether MPI_Alltoall sends by the type that it receives by. Two are wrong in Open MPI 4.1.4 among many
    /// ranks, over any layer: its Bruck algorithm (coll/base, chosen by coll/tuned) reads by the receiver's
    /// type what lies in the sender's layout, also beyond its end.
    bool one_alltoall_layout;
  };

  /// Collective over `comm`, which it duplicates.
  CollectivesMix(MPI_Comm comm, const Traits& traits);
  CollectivesMix(const CollectivesMix&) = delete;
  CollectivesMix& operator=(const CollectivesMix&) = delete;
  /// Collective. What was drawn may not be used any more.
  ~CollectivesMix();

  /// The `index`-th of the mix. Local.
  Collective draw(std::uint64_t index) const;

 private:
  Traits traits_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Op composition_ = MPI_OP_NULL;         // associative, but not commutative
  MPI_Datatype affine_ = MPI_DATATYPE_NULL;  // what it composes
  MPI_Datatype spaced_ = MPI_DATATYPE_NULL;  // an int, and a gap of as many bytes
};

}  // namespace stria::bench
