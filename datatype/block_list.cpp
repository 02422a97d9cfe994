#include "datatype/block_list.hpp"

#include <utility>

#include "datatype/canonical.hpp"
#include "datatype/passes.hpp"
#include "datatype/period.hpp"
#include "datatype/repetition.hpp"
#include "datatype/short_rows.hpp"

namespace stria::datatype {

/// Collects the rows of a block list from left to right. A row is a stretch of at least kMinRoll equal blocks
/// at one distance, which the passes roll into one strided piece (roll_runs) and may open again if it is
/// short (short_rows.hpp). Rows knows in the end whether the passes open all rows of the list.
class Rows {
 public:
  /// Adds the row of blocks [begin, end), each of `bytes` bytes, `step` bytes apart.
  void add(std::size_t begin, std::size_t end, std::int64_t bytes, std::int64_t step) {
    const auto n = static_cast<std::int64_t>(end - begin);
    const bool goes_on = begin == end_ && n == blocks_ && bytes == bytes_ && step == step_;
    count_ = goes_on ? count_ + 1 : 1;
    parts_.rows += goes_on ? 0 : 1;
    parts_.in_rows += n;
    rows_.emplace_back(begin, end);
    skip_to(begin);
    all_short_ = all_short_ && n <= kShortRow && bytes <= kShortRowBytes && are_short(count_, n, n * bytes);
    // kMinRoll equal rows that touch may themselves be rolled into one strided piece, which may then be part
    // of a repetition with the blocks between.
    all_short_ = all_short_ && count_ < static_cast<std::int64_t>(kMinRoll);
    end_ = end;
    blocks_ = n;
    bytes_ = bytes;
    step_ = step;
  }
  bool any() const noexcept { return parts_.rows != 0; }
  /// Returns the first block of each element that the passes see after rolling: a row is one element, and so
  /// is each block outside the rows.
  std::vector<std::size_t> elements(std::size_t blocks) const {
    std::vector<std::size_t> begins;
    std::size_t at = 0;
    for (const auto& [begin, end] : rows_) {
      for (; at <= begin; ++at) begins.push_back(at);
      at = end;
    }
    for (; at < blocks; ++at) begins.push_back(at);
    return begins;
  }
  /// Whether the passes open every row of a list of `blocks` blocks. To be called once, after the last add().
  bool all_opened(std::size_t blocks) noexcept {
    skip_to(blocks);
    return parts_.rows == 0 || (all_short_ && parts_.matter() && parts_.join());
  }

 private:
  /// Counts the blocks between the last row and block `begin`, which are in no row.
  void skip_to(std::size_t begin) noexcept {
    parts_.lists += begin > end_ ? 1 : 0;
    parts_.in_lists += static_cast<std::int64_t>(begin - end_);
  }

  ShortParts parts_;
  std::vector<std::pair<std::size_t, std::size_t>> rows_;
  bool all_short_ = true;
  std::size_t end_ = 0;                             // where the last row ends
  std::int64_t blocks_ = 0, bytes_ = 0, step_ = 0;  // shape of the last row: blocks, bytes a block, step
  std::int64_t count_ = 0;                          // rows of this shape that follow each other directly
};

/// Whether the passes may leave a row rolled, or find a repetition in the list.
template <class Int>
bool BlockList<Int>::stays_rolled() const {
  Rows rows;
  std::size_t run = 1;
  std::int64_t bytes = length(0), step = 0;  // of the run's blocks; step is valid from the second one on
  for (std::size_t i = 1; i < size_; ++i) {
    const std::int64_t here = std::int64_t{places_[i]} - places_[i - 1];
    const std::int64_t n = length(i);
    if (n == bytes && run >= 2 && here == step) {
      ++run;
      continue;
    }
    if (run >= kMinRoll) {
      rows.add(i - run, i, bytes, step);
      run = 1;
    } else {
      run = n == bytes ? 2 : 1;
    }
    bytes = n;
    step = here;
  }
  if (run >= kMinRoll) rows.add(size_ - run, size_, bytes, step);
  // Up to kExpandRuns blocks, the tree must not depend on the description: any row is left to the passes.
  const bool tree_is_unique = size_ <= static_cast<std::size_t>(kExpandRuns);
  if (tree_is_unique ? rows.any() : !rows.all_opened(size_)) return true;
  return rows.any() ? repeats_in_part(rows.elements(size_)) : repeats_in_part();
}

template <class Int>
bool BlockList<Int>::repeats_in_part() const {
  return !find_repetitions(
              size_, [&](std::size_t i, std::size_t j) { return length(i) == length(j); },
              [&](std::size_t i, std::size_t j) { return std::int64_t{places_[j]} - places_[i]; })
              .empty();
}

template <class Int>
bool BlockList<Int>::repeats_in_part(const std::vector<std::size_t>& elements) const {
  const auto blocks = [&](std::size_t i) {
    return (i + 1 < elements.size() ? elements[i + 1] : size_) - elements[i];
  };
  const auto step = [&](std::size_t i) {
    return blocks(i) == 1 ? 0 : std::int64_t{places_[elements[i] + 1]} - places_[elements[i]];
  };
  const auto same = [&](std::size_t i, std::size_t j) {
    return length(elements[i]) == length(elements[j]) && blocks(i) == blocks(j) && step(i) == step(j);
  };
  const auto distance = [&](std::size_t i, std::size_t j) {
    return std::int64_t{places_[elements[j]]} - places_[elements[i]];
  };
  return !find_repetitions(elements.size(), same, distance).empty();
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
  if (stays_rolled() || repeats()) return std::nullopt;
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
