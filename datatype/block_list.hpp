// The short way for long lists of plain blocks: arrays instead of pieces with a node each, so that committing
// a million irregular blocks costs little more than reading and writing their arrays.
//
// It gives what the passes (passes.hpp) would give, or nothing: merging of neighbours is the same rewrite;
// then, where the sequence has neither a period nor a stretch that would be rolled, no pass changes anything,
// and the list stands as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "datatype/node.hpp"

namespace stria::datatype {

class BlockList {
 public:
  explicit BlockList(std::size_t entries);

  /// The next block in typemap order, `bytes` > 0; both values and their sum fit 64 bits.
  void add(std::int64_t displacement, std::int64_t bytes) {
    if (!places_.empty() && places_.back() + lengths_.back() == displacement) {
      lengths_.back() += bytes;
    } else {
      places_.push_back(displacement);
      lengths_.push_back(bytes);
    }
  }
  std::size_t size() const noexcept { return places_.size(); }

  /// The canonical list; empty when the passes would find something regular in it. At least 2 blocks; spans
  /// and sums were checked by the caller.
  std::optional<Placed> irregular() &&;

 private:
  bool rolls() const noexcept;
  bool repeats() const noexcept;

  std::vector<std::int64_t> places_, lengths_;
};

}  // namespace stria::datatype
