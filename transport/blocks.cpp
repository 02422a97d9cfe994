#include "transport/blocks.hpp"

#include <algorithm>
#include <limits>

namespace stria::transport {
namespace {

constexpr std::uint64_t kSparse = 64;    // most bytes of memory to register for a byte that is meant
constexpr std::size_t kMostRuns = 1024;  // a range with more runs is not looked at to its end

}  // namespace

bool span_of(const Blocks& memory, Span& span) noexcept {
  if (memory.block == 0 || memory.bytes == 0 || memory.bytes % memory.block != 0) return false;
  const std::uint64_t steps = memory.bytes / memory.block - 1;
  if (steps > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return false;
  std::int64_t reach = 0;
  if (__builtin_mul_overflow(static_cast<std::int64_t>(steps), memory.stride, &reach)) return false;
  const std::uint64_t distance =
      reach < 0 ? -static_cast<std::uint64_t>(reach) : static_cast<std::uint64_t>(reach);
  if (__builtin_add_overflow(distance, memory.block, &span.bytes)) return false;
  if (reach < 0 && distance > memory.first) return false;
  span.begin = reach < 0 ? memory.first - distance : memory.first;
  std::uint64_t end = 0;
  return !__builtin_add_overflow(span.begin, span.bytes, &end);
}

bool is_dense(std::uint64_t span, std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kMuch = 256 << 10;
  return span <= kMuch || span / kSparse <= bytes;
}

bool describe(const stria_services_t& services, const Payload& memory, Blocks& out, Span& span) noexcept {
  // To pack more than kMostSmall blocks of less than kSmall bytes takes no longer than to ask for each.
  constexpr std::int64_t kMostSmall = 1024;
  constexpr std::int64_t kSmall = 4096;
  stria_blocks_t blocks{};
  if (memory.count <= 0 || services.size < sizeof services || services.blocks(&memory, &blocks) == 0)
    return false;
  if (blocks.count > kMostSmall && blocks.bytes < kSmall) return false;
  out.first = reinterpret_cast<std::uint64_t>(blocks.first);
  out.block = static_cast<std::uint64_t>(blocks.bytes);
  out.stride = blocks.stride;
  if (__builtin_mul_overflow(out.block, static_cast<std::uint64_t>(blocks.count), &out.bytes)) return false;
  return span_of(out, span) && is_dense(span.bytes, out.bytes);
}

bool span_of(const stria_services_t& services, const Payload& memory, Span& span) noexcept {
  const auto length = static_cast<std::uint64_t>(memory.length);
  if (memory.layout == nullptr) {
    span = {reinterpret_cast<std::uint64_t>(memory.base) + static_cast<std::uint64_t>(memory.offset), length};
    return true;
  }
  std::uint64_t low = ~std::uint64_t{0}, high = 0;
  Payload rest = memory;
  for (std::size_t runs = 0; rest.length > 0;) {
    iovec list[64];
    std::int64_t covered = 0;
    const std::size_t n = services.iovecs(&rest, list, 64, &covered);
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = reinterpret_cast<std::uint64_t>(list[i].iov_base);
      low = std::min(low, at);
      high = std::max(high, at + list[i].iov_len);
    }
    runs += n;
    if (runs > kMostRuns || covered <= 0) return false;
    rest.offset += covered;
    rest.length -= covered;
  }
  span = {low, high - low};
  return span.bytes / kSparse <= length;
}

}  // namespace stria::transport
