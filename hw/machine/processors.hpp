// Which processors are measured: the one that the caller runs on, and two others, of which one shares a cache
// with it and the other does not, as far as the system tells.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stria::hw {

/// "0-3,8" -> 0, 1, 2, 3, 8, as the system lists processors. Empty: it is no such list.
std::vector<unsigned> parse_processors(const std::string& text);

/// Processors that the kernel lets this process use, in rising order, whatever the calling thread is bound
/// to: launchers bind each rank to one core. The calling thread is not bound any more afterwards.
std::vector<unsigned> permitted_processors();

/// What the system says of one processor: those of the same core, and those that share its last-level cache.
struct Neighbours {
  std::vector<unsigned> core, cache;
};
Neighbours neighbours_of(unsigned processor);

/// The partners to measure `own` with: one that shares the last-level cache, and one that does not. Where the
/// system does not tell, the next and the last one: then what is measured tells which of them is near.
struct Partners {
  std::optional<unsigned> near, far;
};
Partners choose_partners(unsigned own, const std::vector<unsigned>& permitted, const Neighbours& neighbours);

}  // namespace stria::hw
