#include "transport/verbs/blocks.hpp"

#include <limits>

namespace stria::verbs {

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

}  // namespace stria::verbs
