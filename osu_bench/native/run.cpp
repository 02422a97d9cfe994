#include "osu_bench/native/run.hpp"

#include "osu_bench/common/programs.hpp"
#include "osu_bench/native/native_peer.hpp"

namespace stria::bench {

int run_native(Question question, int argc, char** argv) {
  const Program program = program_of(question, "stria");
  const Parsed parsed = parse(argc, argv, program, true);
  if (!parsed.options) return parsed.exit_code;
  return Team::run(parsed.options->processes, [&](int rank, Team& team) {
    NativePeer peer(rank, team);
    return run_question(question, peer, program, *parsed.options) ? 0 : 1;
  });
}

}  // namespace stria::bench
