// osu_calls: what each of the calls of calls.hpp takes between two processes.
#include <algorithm>
#include <cstdio>

#include "osu_bench/common/distance.hpp"
#include "osu_bench/common/measure.hpp"
#include "osu_bench/common/report.hpp"
#include "osu_bench/mpi/calls.hpp"
#include "osu_bench/mpi/mpi_peer.hpp"

namespace {

using namespace stria::bench;

/// One row. Returns whether what came was right, before and after it was timed. Collective. Six parameters:
/// what is measured, between which processes, how, and where the row goes.
bool run(MpiPeer& peer, Distance<MpiPeer>& distance, const Call& call, std::size_t bytes,
         const Options& options, const Report& report) {
  Calls state(bytes);
  const auto step = [&] { (state.*call.step)(); };
  const auto is_right = [&] {
    if (!options.validate) return true;
    state.prepare();
    step();
    return all_agree(peer, (state.*call.right)());
  };
  const auto size = static_cast<std::int64_t>(call.right == &Calls::got_sum ? state.summed_bytes() : bytes);
  bool right = is_right();
  const double line = distance.us();
  const Measured took = measure(peer, plan_for(options, bytes, false), step);
  const double line_after = distance.us();
  right = is_right() && right;
  const auto us = [&](double ns) { return ns / 1e3 / call.calls; };
  report.row({std::string(call.name), size, std::string("call"), size, us(took.ns.average), us(took.ns.min),
              us(took.ns.median), us(took.ns.p99), static_cast<std::int64_t>(took.iterations), right, line,
              line_after});
  return right;
}

int run(int argc, char** argv) {
  MpiPeer peer;
  Program program{.name = "osu_calls", .title = "MPI Calls Test"};
  program.messages = false;
  program.ways = program.usual_ways = {"call"};
  program.usual_sizes = {8, 1024, 8192, 65536, 524288};
  for (const Call& call : calls()) program.cases.emplace_back(call.name);
  const Parsed parsed = parse(argc, argv, program, peer.rank() == 0);
  if (!parsed.options) return parsed.exit_code;
  const Options& options = *parsed.options;
  if (peer.size() != 2) {
    if (peer.rank() == 0)
      std::fprintf(stderr, "osu_calls: %d processes, it takes two: start it with mpirun -n 2\n", peer.size());
    return 2;
  }
  const Report report(program, options,
                      with_distance({{"case", "Call"},
                                     {"parameter", "", 0, true},
                                     {"way", "", 0, true},
                                     {"size", "Size"},
                                     {"average_us", "Avg (us)", 3},
                                     {"min_us", "Min (us)", 3},
                                     {"median_us", "Median (us)", 3},
                                     {"p99_us", "P99 (us)", 3},
                                     {"iterations", "Iterations"},
                                     {"valid", "Validation"}}),
                      peer.rank() == 0);
  report.header(peer.environment());
  Distance<MpiPeer> distance(peer);
  bool all_right = true;
  for (const Call& call : calls()) {
    const auto& wanted = options.shapes.cases;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), call.name) == wanted.end()) continue;
    for (const std::size_t bytes : options.sizes) {
      all_right = run(peer, distance, call, call.has_size ? bytes : 0, options, report) && all_right;
      if (!call.has_size) break;
    }
  }
  return all_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = run(argc, argv);
  MPI_Finalize();
  return code;
}
