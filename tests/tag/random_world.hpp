// Two workers over a fabric whose faults and delays are drawn from a seed, one of them seldom inside the
// library.
#pragma once

#include <random>
#include <vector>

#include "tests/tag/world.hpp"

namespace stria::test {

/// Gets and puts that end late, full queues, and fragments that overtake each other; how often is drawn from
/// `random`. The fabric draws its own choices from `seed`.
inline fake::FabricOptions random_fabric(unsigned seed, std::mt19937& random) {
  fake::FabricOptions options;
  options.seed = seed;
  options.async_percent = random() % 101;
  options.no_resource_percent = random() % 40;
  options.fragment_overtakes_percent = random() % 101;
  share_memory(options, random);
  return options;
}

/// Has both workers make progress in an order drawn from `random`, one of them eight times as often. False:
/// `ended()` is not true after many steps.
template <class Ended>
bool run_unevenly(World& world, std::mt19937& random, const Ended& ended) {
  const unsigned slow = random() % 2;
  for (unsigned steps = 0; !ended() && steps < 400000; ++steps)
    stria_worker_progress(world.worker(random() % 8 == 0 ? slow : 1 - slow));
  return ended();
}

/// Bytes to recognise, another row for each seed.
inline std::vector<unsigned char> pattern(std::size_t bytes, unsigned seed) {
  std::vector<unsigned char> data(bytes);
  std::mt19937 random(seed);
  for (auto& byte : data) byte = static_cast<unsigned char>(random());
  return data;
}

}  // namespace stria::test
