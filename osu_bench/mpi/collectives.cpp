#include "osu_bench/mpi/collectives.hpp"

#include <algorithm>

#include "osu_bench/mpi/drawn.hpp"

namespace stria::bench {

CollectivesMix::CollectivesMix(MPI_Comm comm, const Traits& traits) : traits_(traits) {
  MPI_Comm_dup(comm, &comm_);
  MPI_Op_create(compose_affine, 0, &composition_);
  MPI_Type_contiguous(2, MPI_INT, &affine_);
  MPI_Type_commit(&affine_);
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced_);
  MPI_Type_commit(&spaced_);
}

CollectivesMix::~CollectivesMix() {
  MPI_Op_free(&composition_);
  MPI_Type_free(&affine_);
  MPI_Type_free(&spaced_);
  MPI_Comm_free(&comm_);
}

Collective CollectivesMix::draw(std::uint64_t index) const {
  constexpr std::uint64_t kFew = 200;  // elements, of most
  Dice dice(traits_.seed * 1000003 + index);
  Draw drawn{};
  drawn.comm = comm_;
  MPI_Comm_rank(comm_, &drawn.rank);
  MPI_Comm_size(comm_, &drawn.size);
  drawn.key = traits_.seed * 7919 + index;
  const std::uint64_t most = traits_.largest + 1;
  drawn.count = static_cast<int>(dice.below(dice.chance(60) ? std::min(kFew, most) : most));
  drawn.root = static_cast<int>(dice.below(static_cast<std::uint64_t>(drawn.size)));
  drawn.nonblocking = dice.chance(40);
  drawn.one_alltoall_layout = traits_.one_alltoall_layout;
  const bool barrier = dice.chance(10);
  const std::uint64_t kind = dice.below(7);
  Collective made = kind < 3    ? draw_reduction(drawn, dice)
                    : kind == 3 ? draw_ordered_reduction(drawn, composition_, affine_)
                                : draw_movement(drawn, dice, spaced_);
  if (barrier) made.barrier_behind = comm_;
  return made;
}

}  // namespace stria::bench
