// main() of every native program; CMake names the question.
#include <cstdio>

#include "osu_bench/common/programs.hpp"
#include "osu_bench/native/native_peer.hpp"

int main(int argc, char** argv) {
  using namespace stria::bench;
  constexpr Question question = Question::STRIA_BENCH_QUESTION;
  const Program program = program_of(question, "stria");
  const Parsed parsed = parse(argc, argv, program, true);
  if (!parsed.options) return parsed.exit_code;
  return Team::run(parsed.options->processes, [&](int rank, Team& team) {
    NativePeer peer(rank, team);
    return run_question(question, peer, program, *parsed.options) ? 0 : 1;
  });
}
