// Threads on cores of their own, and how their loops are timed.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <utility>
#include <vector>

#include "osu_bench/common/clock.hpp"
#include "osu_bench/common/distance.hpp"
#include "osu_bench/common/statistics.hpp"

namespace stria::bench {

inline std::vector<int> cores() {
  std::vector<int> list;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) list.push_back(cpu);
  }
  return list;
}

inline void bind_to(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
}

/// Repeats `step` for about `budget_ns` (at least `fewest` times) and summarises its times.
template <class Step>
Summary repeat(double budget_ns, int fewest, Step&& step) {
  step();
  std::vector<double> samples;
  const double end = now_ns() + budget_ns;
  while (static_cast<int>(samples.size()) < fewest || (now_ns() < end && samples.size() < 100000)) {
    const double from = now_ns();
    step();
    samples.push_back(now_ns() - from);
  }
  return summarise(std::move(samples));
}

}  // namespace stria::bench
