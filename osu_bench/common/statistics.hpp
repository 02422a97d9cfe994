// From samples to the four figures a row prints.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace stria::bench {

struct Summary {
  double average = 0;
  double min = 0;
  double median = 0;
  double p99 = 0;
  std::size_t samples = 0;
};

/// The value below which the fraction `q` of sorted samples lies (nearest rank). 0 when there are none.
inline double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  const double rank = std::ceil(q * static_cast<double>(sorted.size()));
  const std::size_t at = rank < 1 ? 0 : static_cast<std::size_t>(rank) - 1;
  return sorted[std::min(at, sorted.size() - 1)];
}

inline Summary summarise(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  return {sum / static_cast<double>(samples.size()), samples.front(), quantile(samples, 0.5),
          quantile(samples, 0.99), samples.size()};
}

}  // namespace stria::bench
