#include "datatype/block_list.hpp"

#include <algorithm>
#include <utility>

#include "datatype/passes.hpp"
#include "datatype/period.hpp"

namespace stria::datatype {

BlockList::BlockList(std::size_t entries) {
  places_.reserve(entries);
  lengths_.reserve(entries + 1);  // they become prefix sums, one more
}

/// Whether kMinRoll equal blocks stand at one distance anywhere.
bool BlockList::rolls() const noexcept {
  std::size_t run = 1;
  for (std::size_t i = 1; i < places_.size(); ++i) {
    const bool same = lengths_[i] == lengths_[i - 1];
    if (run >= 2 && same && places_[i] - places_[i - 1] == places_[i - 1] - places_[i - 2])
      ++run;
    else
      run = same ? 2 : 1;
    if (run >= kMinRoll) return true;
  }
  return false;
}

bool BlockList::repeats() const noexcept {
  return smallest_period(places_.size(), [&](std::size_t i, std::size_t j, std::size_t p) {
           return places_[j] - places_[i] == places_[p] - places_[0] && lengths_[j] == lengths_[i];
         }) < places_.size();
}

std::optional<Placed> BlockList::irregular() && {
  if (rolls() || repeats()) return std::nullopt;
  const std::int64_t origin = places_.front();
  for (std::int64_t& place : places_) place -= origin;
  const std::int64_t bytes = lengths_.front();
  if (std::all_of(lengths_.begin(), lengths_.end(), [=](std::int64_t n) { return n == bytes; }))
    return Placed{origin, must_make(Indexed{Offsets(std::move(places_)), must_make(Block{bytes})})};
  // Lengths become prefix sums in place: starts[i] is what came before block i.
  std::int64_t sum = 0;
  for (std::int64_t& n : lengths_) sum += std::exchange(n, sum);
  lengths_.push_back(sum);
  return Placed{origin, must_make(Blocks(std::move(places_), std::move(lengths_)))};
}

}  // namespace stria::datatype
