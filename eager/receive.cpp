#include "eager/receive.hpp"

namespace stria::eager {

std::int32_t Receiver::take_waiting(const transport::LinkRef& link, transport::Header& header, void* memory,
                                    std::uint32_t most) noexcept {
  constexpr unsigned kTurns = 128;
  std::int32_t bytes = STRIA_TAKE_NOTHING;
  for (unsigned turn = 0; turn < kTurns && bytes == STRIA_TAKE_NOTHING; ++turn)
    bytes = link.take(header, memory, most);
  return bytes;
}

}  // namespace stria::eager
