// The timed loops. `step` is one iteration of the calling rank's side of an exchange. It runs in two loops:
// one without a clock inside, which gives the average as OSU does, then one that stamps every iteration,
// which gives minimum, median and 99th percentile. No option is looked at inside either loop.
#pragma once

#include <algorithm>
#include <vector>

#include "osu_bench/common/clock.hpp"
#include "osu_bench/common/options.hpp"
#include "osu_bench/common/peer.hpp"
#include "osu_bench/common/statistics.hpp"

namespace stria::bench {

struct Measured {
  Summary ns;  ///< a step, nanoseconds; the average is the unstamped loop's
  double slowest_ns = 0;
  long iterations = 0;
};

/// OSU's counts: 10000 iterations up to 8 KiB, 1000 above; a tenth of that for bandwidth windows.
struct Plan {
  long iterations;
  long warmup;
  bool exact;  ///< the command line named the count: do not cut it to the time budget
  double budget_ns;
};

inline Plan plan_for(const Options& options, std::size_t bytes, bool windowed) {
  const bool large = bytes > 8192;
  const long usual = windowed ? (large ? 100 : 1000) : (large ? 1000 : 10000);
  const long warmup = windowed ? 10 : (large ? 20 : 200);
  return {options.iterations > 0 ? options.iterations : usual, options.warmup >= 0 ? options.warmup : warmup,
          options.iterations > 0, options.row_ms * 1e6};
}

/// How often `step` runs to warm up, and then to be timed, the same on every rank: so that one timed loop
/// takes half of the plan's time. Collective.
struct Repeats {
  long warmup;
  long iterations;
};

template <Peer P, class Step>
Repeats repeats_of(P& peer, const Plan& plan, Step&& step) {
  constexpr long kProbes = 3;
  if (plan.exact) return {plan.warmup, plan.iterations};
  double quickest = 0;
  for (long i = 0; i < kProbes; ++i) {
    const double from = now_ns();
    step();
    const double took = now_ns() - from;
    quickest = i == 0 ? took : std::min(quickest, took);
  }
  // Half of the budget for each of the two loops, and at most as much for the warm-up. A step so long that
  // twenty of them take ten times the budget is repeated less often, and the probes have warmed it up.
  const double fitting = plan.budget_ns / 2 / std::max(quickest, 1.0);
  const long fewest = fitting >= 1 ? 20 : 5;
  const long iterations =
      peer.broadcast(std::min(plan.iterations, std::max(fewest, static_cast<long>(std::min(fitting, 1e9)))));
  return {std::min(plan.warmup, peer.broadcast(fitting >= 1 ? iterations : 0)), iterations};
}

/// Runs `step` on every rank, equally often, and times it. Collective.
template <Peer P, class Step>
Measured measure(P& peer, const Plan& plan, Step&& step) {
  peer.barrier();
  const auto [warmup, iterations] = repeats_of(peer, plan, step);
  for (long i = 0; i < warmup; ++i) step();
  peer.barrier();

  const double from = now_ns();
  for (long i = 0; i < iterations; ++i) step();
  const double average = (now_ns() - from) / static_cast<double>(iterations);

  std::vector<double> samples(static_cast<std::size_t>(iterations));
  peer.barrier();
  for (double& sample : samples) {
    const double start = now_ns();
    step();
    sample = now_ns() - start;
  }
  const double slowest = *std::max_element(samples.begin(), samples.end());
  Measured result{summarise(std::move(samples)), slowest, iterations};
  result.ns.average = average;
  return result;
}

/// The same for a `step` of which only a part counts: it returns the nanoseconds of that. Collective.
template <Peer P, class Step>
Measured measure_part(P& peer, const Plan& plan, Step&& step) {
  peer.barrier();
  const auto [warmup, iterations] = repeats_of(peer, plan, step);
  for (long i = 0; i < warmup; ++i) step();
  std::vector<double> samples(static_cast<std::size_t>(iterations));
  peer.barrier();
  for (double& sample : samples) sample = step();
  const double slowest = *std::max_element(samples.begin(), samples.end());
  return {summarise(std::move(samples)), slowest, iterations};
}

}  // namespace stria::bench
