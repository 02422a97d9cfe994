// main() of every native program; CMake names the question.
#include "osu_bench/native/run.hpp"

int main(int argc, char** argv) {
  return stria::bench::run_native(stria::bench::Question::STRIA_BENCH_QUESTION, argc, argv);
}
