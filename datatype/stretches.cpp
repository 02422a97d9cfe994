#include "datatype/stretches.hpp"

namespace stria::datatype {
namespace {

/// The blocks of a stretch of several lengths, counted by how wide a move they take.
struct Mixed {
  std::int64_t widest = 128;
  std::int64_t blocks = 0, above_32 = 0, above_64 = 0;

  void add(std::int64_t n, std::int64_t bytes) noexcept {
    blocks += n;
    above_32 += bytes > 32 ? n : 0;
    above_64 += bytes > 64 ? n : 0;
  }
  /// The stretch's Stretch::bytes.
  std::int64_t bytes() const noexcept {
    return above_32 * kFew <= blocks ? 32 : above_64 * kFew <= blocks ? 64 : widest;
  }
};

template <class Int>
std::vector<Stretch> stretches_of(const Int* starts, std::int64_t blocks) {
  std::vector<Stretch> out;
  const Mixed none{.widest = std::int64_t{starts[blocks]} - starts[0] >= kBeyondCaches ? kFromMemory : 128};
  Mixed mixed = none;  // what follows the last stretch, up to `begin`
  // First block and block length of the blocks of one length that end at block i.
  std::int64_t begin = 0, bytes = std::int64_t{starts[1]} - starts[0];
  const auto close_run = [&](std::int64_t end) {
    if (end - begin < kMinStretch) return mixed.add(end - begin, bytes);
    if (mixed.blocks > 0) out.push_back({begin, mixed.bytes(), false});
    out.push_back({end, bytes, true});
    mixed = none;
  };
  for (std::int64_t i = 1; i < blocks; ++i) {
    const std::int64_t length = std::int64_t{starts[i + 1]} - starts[i];
    if (length == bytes) continue;
    close_run(i);
    begin = i;
    bytes = length;
  }
  close_run(blocks);
  if (mixed.blocks > 0) out.push_back({blocks, mixed.bytes(), false});
  return out;
}

}  // namespace

std::vector<Stretch> stretches_of(const Offsets& starts) {
  const auto blocks = static_cast<std::int64_t>(starts.size()) - 1;
  return starts.is_narrow() ? stretches_of(starts.data<std::int32_t>(), blocks)
                            : stretches_of(starts.data<std::int64_t>(), blocks);
}

}  // namespace stria::datatype
