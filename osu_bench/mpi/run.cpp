#include "osu_bench/mpi/run.hpp"

#include <cstdio>

#include "osu_bench/common/programs.hpp"
#include "osu_bench/mpi/mpi_peer.hpp"

namespace stria::bench {
namespace {

int run(Question question, int argc, char** argv) {
  MpiPeer peer;
  Program program = program_of(question, "MPI");
  program.processes = false;  // mpirun starts them
  const Parsed parsed = parse(argc, argv, program, peer.rank() == 0);
  if (!parsed.options) return parsed.exit_code;
  if (!takes_processes(question, peer.size())) {
    if (peer.rank() == 0) {
      std::fprintf(stderr, "%s: %d processes do not make pairs: start it with mpirun -n 2\n",
                   program.name.c_str(), peer.size());
    }
    return 2;
  }
  return run_question(question, peer, program, *parsed.options) ? 0 : 1;
}

}  // namespace

int run_mpi(Question question, int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = run(question, argc, argv);
  MPI_Finalize();
  return code;
}

}  // namespace stria::bench
