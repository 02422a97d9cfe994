// libFuzzer target (fuzz_descriptors builds and runs it): any input is refused, or gives a layout that is
// safe to use and encodes to the input.
#include <sys/uio.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "datatype/descriptor.hpp"
#include "datatype/pack.hpp"

namespace {

using namespace stria::datatype;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Runs listed from `offset` lie within the reach; nothing is read there.
void list_some(const Layout& layout, std::int64_t count, const Reach& reach, std::int64_t offset) {
  struct iovec out[8];
  std::int64_t covered = 0;
  const std::size_t n =
      iovecs(range_of(layout, nullptr, count, offset, reach.bytes - offset), out, 8, &covered);
  require(n >= 1 && covered > 0);
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out[i].iov_base));
    require(at >= reach.low && at <= reach.high);
    require(static_cast<std::int64_t>(out[i].iov_len) <= reach.high - at);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  const auto layout = decode(input);
  if (!layout) return 0;
  const auto wire = encode(*layout);
  require(std::equal(wire.begin(), wire.end(), input.begin(), input.end()));
  require(!layout->to_string().empty());
  for (const std::int64_t count : {1, 2, 1000}) {
    const auto reach = layout->reach(count);
    if (!reach || reach->bytes == 0) continue;
    for (const std::int64_t offset : {std::int64_t{0}, reach->bytes / 3, reach->bytes - 1})
      list_some(*layout, count, *reach, offset);
  }
  return 0;
}
