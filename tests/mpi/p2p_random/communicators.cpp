// See communicators.hpp.
#include "tests/mpi/p2p_random/communicators.hpp"

#include <utility>

namespace p2p_random {

Communicators::Communicators(MPI_Comm base) : base_(base) {
  MPI_Comm_rank(base, &rank_);
  MPI_Comm_size(base, &ranks_);
  MPI_Comm_split(base, 0, rank_, &comms_[kStraight]);
  MPI_Comm_split(base, 0, ranks_ - rank_, &comms_[kReversed]);
  for (const int made : {kStraight, kReversed}) {
    MPI_Comm_set_errhandler((*this)[made], MPI_ERRORS_RETURN);  // the copies inherit it
  }
  comms_[kDuplicate] = copy_of(kStraight);
  comms_[kTransient] = copy_of(kStraight);
}

Communicators::~Communicators() {
  for (MPI_Comm& comm : comms_) MPI_Comm_free(&comm);
}

MPI_Comm Communicators::copy_of(int comm) const {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup((*this)[comm], &copy);
  return copy;
}

int Communicators::named(int comm, int rank) const {
  const bool reversed = comm == kReversed || (comm == kTransient && transient_reversed_);
  return rank >= 0 && reversed ? ranks_ - 1 - rank : rank;
}

void Communicators::renew_transient() {
  MPI_Comm_free(&comms_[kTransient]);
  next_transient_ = copy_of(transient_reversed_ ? kStraight : kReversed);
}

void Communicators::end_round() {
  if (next_transient_ == MPI_COMM_NULL) return;
  comms_[kTransient] = std::exchange(next_transient_, MPI_COMM_NULL);
  transient_reversed_ = !transient_reversed_;
}

}  // namespace p2p_random
