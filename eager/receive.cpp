#include "eager/receive.hpp"

namespace stria::eager {

std::int32_t Receiver::poll_window(const transport::LinkRef& link, transport::Header& header, void* memory,
                                   std::uint32_t most) noexcept {
  constexpr unsigned kPolls = 128;
  std::int32_t bytes = STRIA_TAKE_NOTHING;
  for (unsigned poll = 0; poll < kPolls && bytes == STRIA_TAKE_NOTHING; ++poll)
    bytes = link.take(header, memory, most);
  return bytes;
}

}  // namespace stria::eager
