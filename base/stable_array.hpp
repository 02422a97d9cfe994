// An array that grows by whole chunks: its elements never move, cost no allocation each, and are found by
// their number with two loads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace stria {

/// 2^kChunkLog2 elements a chunk; all of a chunk are made when its first is needed.
template <class T, std::uint32_t kChunkLog2>
class StableArray {
 public:
  std::uint32_t size() const noexcept { return size_; }
  T& operator[](std::uint32_t i) const noexcept { return chunks_[i >> kChunkLog2][i & kMask]; }
  /// The element after the last one, as it was made. Throws bad_alloc, and then nothing changed.
  T& append() {
    if (size_ >> kChunkLog2 == chunks_.size()) chunks_.push_back(std::make_unique<T[]>(kMask + 1));
    return (*this)[size_++];
  }

 private:
  static constexpr std::uint32_t kMask = (1u << kChunkLog2) - 1;
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::uint32_t size_ = 0;
};

}  // namespace stria
