// BlockList: a fast way to the canonical tree of an irregular list of plain blocks. The blocks are kept in
// two arrays instead of a vector of pieces (passes.hpp), so committing a long list costs little more than
// reading and writing its arrays. The arrays are written once, in the form in which the node keeps them, in
// 32 bits where the caller knows that all values fit: touching fresh memory costs more than the computation.
//
// BlockList gives the tree that the passes would give, or nothing. It merges neighbours as the passes do. The
// passes then leave the list as it is where it has neither a period, nor a repetition (repetition.hpp), nor a
// stretch that would be rolled and stay rolled (short_rows.hpp). For up to kExpandRuns blocks, whose tree may
// not depend on how they were described, BlockList gives nothing if any stretch would be rolled at all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "datatype/node.hpp"

namespace stria::datatype {

/// Int: std::int32_t where every place, relative to the first, and the sum of all lengths fit 32 bits.
template <class Int>
class BlockList {
 public:
  /// Reads `entries` blocks in typemap order: block_of(i) is a displacement and a length. Blocks of length 0
  /// are left out; the first other one lies at `origin`. All values and sums fit 64 bits.
  template <class BlockOf>
  BlockList(std::size_t entries, std::int64_t origin, BlockOf block_of)
      : origin_(origin), places_(entries), starts_(entries + 1) {
    // Locals stay in registers; members would be stored and loaded again for each block.
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

  /// The canonical tree of the list; empty when the passes would find something regular in it. The list has
  /// at least 2 blocks; the caller has checked that spans and sums fit 64 bits.
  std::optional<Placed> irregular() &&;

 private:
  std::int64_t length(std::size_t i) const noexcept { return std::int64_t{starts_[i + 1]} - starts_[i]; }
  bool stays_rolled() const;
  bool repeats() const noexcept;
  /// Whether the list has a repetition of blocks or, with an argument, of elements that begin at the blocks
  /// `elements`.
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
