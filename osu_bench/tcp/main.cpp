// The floor of messages over TCP: osu_latency and osu_bw over bare sockets. CMake names the question.
#include <cstdio>
#include <exception>

#include "osu_bench/common/programs.hpp"
#include "osu_bench/tcp/socket_peer.hpp"

namespace stria::bench {
namespace {

int run(Question question, int argc, char** argv) try {
  SocketPeer peer;
  const Program program = program_of(question, "TCP");
  const Parsed parsed = parse(argc, argv, program, peer.rank() == 0);
  if (!parsed.options) return parsed.exit_code;
  if (peer.size() != 2) {
    if (peer.rank() == 0)
      std::fprintf(stderr, "%s: %d processes, it takes two: start it with mpirun -n 2\n",
                   program.name.c_str(), peer.size());
    return 2;
  }
  const bool right = question == Question::latency
                         ? run_latency(peer, program, *parsed.options)
                         : run_bandwidth(peer, program, *parsed.options, Direction::one_way);
  return right ? 0 : 1;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "tcp floor: %s\n", failure.what());
  MPI_Abort(MPI_COMM_WORLD, 3);
  return 3;
}

}  // namespace
}  // namespace stria::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = stria::bench::run(stria::bench::Question::STRIA_BENCH_QUESTION, argc, argv);
  MPI_Finalize();
  return code;
}
