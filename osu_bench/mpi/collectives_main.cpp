// osu_collectives: what a collective of a random mix takes among many processes, also among more than there
// are cores.
#include <cstdio>
#include <vector>

#include "osu_bench/common/measure.hpp"
#include "osu_bench/common/report.hpp"
#include "osu_bench/mpi/collectives.hpp"
#include "osu_bench/mpi/mpi_peer.hpp"

namespace {

using namespace stria::bench;

constexpr std::uint64_t kBatch = 32;    // collectives that are timed at once
constexpr std::size_t kElement = 8;     // bytes of the largest type
constexpr std::uint64_t kSeed = 12345;  // the same mix in every run: configurations are compared by it

/// A batch, which is the same each time; of `bytes` at most from one process to another.
class Batch {
 public:
  explicit Batch(std::size_t bytes)
      : mix_(MPI_COMM_WORLD, {.seed = kSeed, .largest = bytes / kElement, .one_alltoall_layout = true}) {
    for (std::uint64_t i = 0; i < kBatch; ++i) drawn_.push_back(mix_.draw(i));
  }

  void prepare() const {
    for (const Collective& one : drawn_) one.prepare();
  }
  void run() const {
    for (const Collective& one : drawn_) one.run();
  }
  /// Names the first that is wrong.
  bool is_right(int rank) const {
    for (const Collective& one : drawn_) {
      const std::string wrong = one.check();
      if (wrong.empty()) continue;
      std::fprintf(stderr, "osu_collectives: rank %d: %s\n", rank, wrong.c_str());
      return false;
    }
    return true;
  }

 private:
  CollectivesMix mix_;
  std::vector<Collective> drawn_;
};

/// One row. Returns whether what came was right, every time. Collective.
bool run(MpiPeer& peer, std::size_t bytes, const Options& options, const Report& report) {
  const Batch batch(bytes);
  bool right = true;
  // From where all are ready to where the last is through.
  const auto step = [&] {
    batch.prepare();
    peer.barrier();
    const double from = now_ns();
    batch.run();
    peer.barrier();
    const double took = now_ns() - from;
    if (options.validate && right) right = batch.is_right(peer.rank());
    return took;
  };
  const Measured took = measure_part(peer, plan_for(options, bytes, true), step);
  right = all_agree(peer, right);
  const auto us = [&](double ns) { return ns / 1e3 / kBatch; };
  const auto size = static_cast<std::int64_t>(bytes);
  report.row({std::string("mix"), size, std::string("call"), size, us(took.ns.average), us(took.ns.min),
              us(took.ns.median), us(took.ns.p99), static_cast<std::int64_t>(took.iterations), right});
  return right;
}

int run(int argc, char** argv) {
  MpiPeer peer;
  Program program{.name = "osu_collectives", .title = "MPI Collectives Test"};
  program.messages = false;
  program.min_size = kElement;
  program.ways = program.usual_ways = {"call"};
  program.usual_sizes = {64, 2048};
  const Parsed parsed = parse(argc, argv, program, peer.rank() == 0);
  if (!parsed.options) return parsed.exit_code;
  if (peer.size() < 2) {
    std::fprintf(stderr, "osu_collectives: one process: start it with mpirun -n 2, or more\n");
    return 2;
  }
  const Report report(program, *parsed.options,
                      {{"case", "Mix"},
                       {"parameter", "", 0, true},
                       {"way", "", 0, true},
                       {"size", "Size"},
                       {"average_us", "Avg (us)", 3},
                       {"min_us", "Min (us)", 3},
                       {"median_us", "Median (us)", 3},
                       {"p99_us", "P99 (us)", 3},
                       {"iterations", "Batches"},
                       {"valid", "Validation"}},
                      peer.rank() == 0);
  report.header(peer.environment());
  bool all_right = true;
  for (const std::size_t bytes : parsed.options->sizes)
    all_right = run(peer, bytes, *parsed.options, report) && all_right;
  return all_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = run(argc, argv);
  MPI_Finalize();
  return code;
}
