#include "datatype/block_list.hpp"

#include <utility>

#include "datatype/passes.hpp"
#include "datatype/period.hpp"

namespace stria::datatype {

/// Whether kMinRoll equal blocks stand at one distance anywhere.
template <class Int>
bool BlockList<Int>::rolls() const noexcept {
  std::size_t run = 1;
  std::int64_t bytes = length(0), step = 0;  // of the run; a step from its second block on
  for (std::size_t i = 1; i < size_; ++i) {
    const std::int64_t here = std::int64_t{places_[i]} - places_[i - 1];
    const std::int64_t n = length(i);
    if (n != bytes)
      run = 1;
    else
      run = run >= 2 && here == step ? run + 1 : 2;
    bytes = n;
    step = here;
    if (run >= kMinRoll) return true;
  }
  return false;
}

template <class Int>
bool BlockList<Int>::repeats() const noexcept {
  return smallest_period(size_, [&](std::size_t i, std::size_t j, std::size_t p) {
           return std::int64_t{places_[j]} - places_[i] == std::int64_t{places_[p]} - places_[0] &&
                  length(j) == length(i);
         }) < size_;
}

template <class Int>
bool BlockList<Int>::all_equal() const noexcept {
  for (std::size_t i = 1; i < size_; ++i)
    if (length(i) != length(0)) return false;
  return true;
}

template <class Int>
std::optional<Placed> BlockList<Int>::irregular() && {
  if (rolls() || repeats()) return std::nullopt;
  const std::int64_t bytes = length(0);
  const bool equal = all_equal();
  const bool roomy = places_.size() > size_ + size_ / 4;  // many blocks were merged
  places_.resize(size_);
  starts_.resize(size_ + 1);
  if (roomy) {
    places_.shrink_to_fit();
    starts_.shrink_to_fit();
  }
  if (equal) return Placed{origin_, must_make(Indexed{Offsets(std::move(places_)), must_make(Block{bytes})})};
  return Placed{origin_, must_make(Blocks(std::move(places_), std::move(starts_)))};
}

template class BlockList<std::int32_t>;
template class BlockList<std::int64_t>;

}  // namespace stria::datatype
