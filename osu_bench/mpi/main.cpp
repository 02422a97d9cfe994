// main() of every MPI program; CMake names the question.
#include "osu_bench/mpi/run.hpp"

int main(int argc, char** argv) {
  return stria::bench::run_mpi(stria::bench::Question::STRIA_BENCH_QUESTION, argc, argv);
}
