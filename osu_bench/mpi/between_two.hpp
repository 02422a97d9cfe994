// The frame of a benchmark between two processes that is a program of its own: its command line, its report,
// and a row for each size.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "osu_bench/common/distance.hpp"
#include "osu_bench/common/options.hpp"
#include "osu_bench/common/report.hpp"
#include "osu_bench/mpi/mpi_peer.hpp"

namespace stria::bench {

/// What a row is made with.
struct Between {
  MpiPeer& peer;
  Distance<MpiPeer>& distance;
  const Options& options;
  const Report& report;
};

/// The program's exit code. `row(between, bytes)` measures one size and reports it; false: a message was
/// wrong.
template <class Row>
int run_between_two(int argc, char** argv, const Program& program, std::vector<Column> columns, Row&& row) {
  MpiPeer peer;
  const Parsed parsed = parse(argc, argv, program, peer.rank() == 0);
  if (!parsed.options) return parsed.exit_code;
  if (peer.size() != 2) {
    if (peer.rank() == 0)
      std::fprintf(stderr, "%s: %d processes, it takes two: start it with mpirun -n 2\n",
                   program.name.c_str(), peer.size());
    return 2;
  }
  const Report report(program, *parsed.options, with_distance(std::move(columns)), peer.rank() == 0);
  report.header(peer.environment());
  Distance<MpiPeer> distance(peer);
  const Between between{peer, distance, *parsed.options, report};
  bool all_right = true;
  for (const std::size_t bytes : parsed.options->sizes) all_right = row(between, bytes) && all_right;
  return all_right ? 0 : 1;
}

/// main(): MPI is there while `run` is called.
template <class Run>
int with_mpi(int argc, char** argv, Run&& run) {
  MPI_Init(&argc, &argv);
  const int code = run(argc, argv);
  MPI_Finalize();
  return code;
}

}  // namespace stria::bench
