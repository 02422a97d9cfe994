#include "datatype/stretches.hpp"

#include <algorithm>

namespace stria::datatype {
namespace {

template <class Int>
std::vector<Stretch> stretches_of(const Int* starts, std::int64_t blocks) {
  std::vector<Stretch> out;
  std::int64_t covered = 0;  // blocks in `out`; from there to `begin` lie blocks of several lengths
  std::int64_t longest = 0;  // of those
  std::int64_t begin = 0, bytes = std::int64_t{starts[1]} - starts[0];  // of the run of equal ones
  const auto close_run = [&](std::int64_t end) {
    if (end - begin < kMinStretch) {
      longest = std::max(longest, bytes);
      return;
    }
    if (begin > covered) out.push_back({begin, longest, false});
    out.push_back({end, bytes, true});
    covered = end;
    longest = 0;
  };
  for (std::int64_t i = 1; i < blocks; ++i) {
    const std::int64_t length = std::int64_t{starts[i + 1]} - starts[i];
    if (length == bytes) continue;
    close_run(i);
    begin = i;
    bytes = length;
  }
  close_run(blocks);
  if (covered < blocks) out.push_back({blocks, longest, false});
  return out;
}

}  // namespace

std::vector<Stretch> stretches_of(const Offsets& starts) {
  const auto blocks = static_cast<std::int64_t>(starts.size()) - 1;
  return starts.is_narrow() ? stretches_of(starts.data<std::int32_t>(), blocks)
                            : stretches_of(starts.data<std::int64_t>(), blocks);
}

}  // namespace stria::datatype
