// osu_overlap: what is left of a message after both processes have computed. Each starts it, calls MPI_Test
// for a moment, so that the two hear of each other, computes without a call, and waits.
#include <vector>

#include "osu_bench/common/measure.hpp"
#include "osu_bench/common/pattern.hpp"
#include "osu_bench/mpi/between_two.hpp"
#include "osu_bench/mpi/mpi_peer.hpp"

namespace {

using namespace stria::bench;

constexpr double kMeetNs = 200e3;
constexpr double kComputeNs = 20e6;
constexpr double kNsInUs = 1e3;
constexpr int kReceiver = 1;

/// A message of rank 0 to rank 1.
class Transfer {
 public:
  Transfer(MpiPeer& peer, const Options& options, std::size_t bytes)
      : peer_(peer), memory_(make_buffer(peer, options, bytes)), bytes_(bytes) {
    fill_pattern(memory_.data(), bytes_, peer_.rank() == kReceiver ? 1 : 0);
  }
  /// Nanoseconds from its start to its end.
  double alone() {
    peer_.barrier();
    const double from = now_ns();
    start();
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    return now_ns() - from;
  }
  /// Nanoseconds that it takes after the computing.
  double left() {
    peer_.barrier();
    start();
    int done = 0;
    for (const double until = now_ns() + kMeetNs; done == 0 && now_ns() < until;)
      MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
    for (const double until = now_ns() + kComputeNs; now_ns() < until;) {
    }
    const double from = now_ns();
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    return now_ns() - from;
  }
  bool is_right() const { return has_pattern(memory_.data(), bytes_, 0); }

 private:
  void start() {
    const auto count = static_cast<int>(bytes_);
    if (peer_.rank() == kReceiver)
      MPI_Irecv(memory_.data(), count, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request_);
    else
      MPI_Isend(memory_.data(), count, MPI_BYTE, kReceiver, 1, MPI_COMM_WORLD, &request_);
  }
  MpiPeer& peer_;
  Buffer memory_;
  const std::size_t bytes_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// The receiver's figure, on rank 0.
double of_receiver(MpiPeer& peer, double ns) {
  const std::vector<double> all = peer.gather(ns);
  return all.empty() ? 0 : all[kReceiver] / kNsInUs;
}

bool row(const Between& between, std::size_t bytes) {
  const auto& [peer, distance, options, report] = between;
  Transfer transfer(peer, options, bytes);
  const double line = distance.us();
  const Plan plan = plan_for(options, bytes, false);
  const Measured alone = measure_part(peer, plan, [&] { return transfer.alone(); });
  const Measured left = measure_part(peer, plan, [&] { return transfer.left(); });
  const double line_after = distance.us();
  const bool right = !options.validate || all_agree(peer, transfer.is_right());
  const double alone_us = of_receiver(peer, alone.ns.median), left_us = of_receiver(peer, left.ns.median);
  report.row({static_cast<std::int64_t>(bytes), alone_us, left_us, alone_us > 0 ? left_us / alone_us : 0.0,
              static_cast<std::int64_t>(left.iterations), right, line, line_after});
  return right;
}

int run(int argc, char** argv) {
  Program program{.name = "osu_overlap", .title = "MPI Overlap Test"};
  program.max_size = 64U << 20U;
  program.usual_sizes = {1U << 20U, 4U << 20U, 16U << 20U};
  return run_between_two(argc, argv, program,
                         {{"size", "Size"},
                          {"alone_us", "Alone (us)"},
                          {"left_us", "Left (us)"},
                          {"left_part", "Left/Alone"},
                          {"iterations", "Iterations"},
                          {"valid", "Validation"}},
                         row);
}

}  // namespace

int main(int argc, char** argv) {
  return stria::bench::with_mpi(argc, argv, run);
}
