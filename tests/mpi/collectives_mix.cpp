// Collectives drawn at random: operation, root, counts, types and reduction, blocking or not, each against an
// answer computed locally (everyone knows what everyone contributes). Runs from 2 ranks to far more ranks
// than cores. The mix itself is the benchmark's: osu_bench/mpi/collectives.hpp.
//   --iterations=N (default 400)  --largest=N elements (default 20000)
//   --alltoall-layouts=one|two (default one): does MPI_Alltoall send by the receiver's type, or by another?
#include "osu_bench/mpi/collectives.hpp"
#include "tests/mpi/harness.hpp"

namespace {

using namespace mpitest;

void run(const Session& session) {
  const auto iterations = session.options.number("iterations", 400);
  const stria::bench::CollectivesMix mix(
      MPI_COMM_WORLD, {.seed = session.seed,
                       .largest = session.options.number("largest", 20000),
                       .one_alltoall_layout = session.options.get("alltoall-layouts", "one") != "two"});
  for (std::uint64_t i = 0; i < iterations && failures() < 20; ++i) {
    const stria::bench::Collective one = mix.draw(i);
    step(text(one.name, ", number ", i));
    one.prepare();
    one.run();
    const std::string wrong = one.check();
    expect(wrong.empty(), wrong);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "collectives_mix");
  run(session);
  return session.finish();
}
