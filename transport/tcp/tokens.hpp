// What the tokens of a device's sockets mean.
#pragma once

#include "transport/tcp/link.hpp"

namespace stria::tcp {

inline constexpr Token kTimerToken = 1;
inline constexpr Token kDoorToken = 2;
inline constexpr Token kHandshakeToken = 3;
inline constexpr Token kQueueToken = 4;  ///< of KernelQueue; nobody waits for it but the call that looks

/// All others are the addresses of links, with a bit for those of their bulk connections.
inline bool is_link(Token token) noexcept {
  return token > kQueueToken;
}
inline Link& link_of(Token token) noexcept {
  return *reinterpret_cast<Link*>(token & ~kBulkBit);
}
inline bool is_bulk(Token token) noexcept {
  return (token & kBulkBit) != 0;
}

}  // namespace stria::tcp
