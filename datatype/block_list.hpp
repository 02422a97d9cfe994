// The short way for lists of plain blocks: arrays instead of pieces with a node each, so that committing
// a million irregular blocks costs little more than reading and writing their arrays. They are written once,
// as the node keeps them, in 32 bits where the caller knows that all fit: fresh memory costs more than the
// work.
//
// It gives what the passes (passes.hpp) would give, or nothing: merging of neighbours is the same rewrite;
// then, where the sequence has neither a period, nor a repetition (repetition.hpp), nor a stretch that would
// be rolled and stay rolled (short_rows.hpp), the passes come back to the list, and it stands as it is. (Of
// up to kExpandRuns blocks, whose form may not depend on how they were described, no stretch may be rolled at
// all.)
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "datatype/node.hpp"

namespace stria::datatype {

/// Int: std::int32_t where every place, relative to the first, and the sum of all lengths fit it.
template <class Int>
class BlockList {
 public:
  /// Takes up to `entries` blocks in typemap order, the first one with bytes at `origin`: block_of(i) is a
  /// displacement and a length, which may be 0. All values and sums fit 64 bits.
  template <class BlockOf>
  BlockList(std::size_t entries, std::int64_t origin, BlockOf block_of)
      : origin_(origin), places_(entries), starts_(entries + 1) {
    // In registers: as members they would go through memory from block to block.
    Int *places = places_.data(), *starts = starts_.data();
    std::size_t size = 0;
    std::int64_t sum = 0, last_end = 0;
    for (std::size_t i = 0; i < entries; ++i) {
      const auto [displacement, bytes] = block_of(i);
      if (bytes == 0) continue;
      if (size == 0 || displacement != last_end) {
        places[size] = static_cast<Int>(displacement - origin);
        starts[size] = static_cast<Int>(sum);
        ++size;
      }
      sum += bytes;
      last_end = displacement + bytes;
    }
    starts[size] = static_cast<Int>(sum);
    size_ = size;
  }
  std::size_t size() const noexcept { return size_; }

  /// The canonical list; empty when the passes would find something regular in it. At least 2 blocks; spans
  /// and sums were checked by the caller.
  std::optional<Placed> irregular() &&;

 private:
  std::int64_t length(std::size_t i) const noexcept { return std::int64_t{starts_[i + 1]} - starts_[i]; }
  bool stays_rolled() const;
  bool repeats() const noexcept;
  /// Whether there is a repetition, of blocks or of elements that begin at these blocks.
  bool repeats_in_part() const;
  bool repeats_in_part(const std::vector<std::size_t>& elements) const;
  bool all_equal() const noexcept;

  std::int64_t origin_;
  std::size_t size_ = 0;
  std::vector<Int> places_, starts_;
};

extern template class BlockList<std::int32_t>;
extern template class BlockList<std::int64_t>;

}  // namespace stria::datatype
