// What the tokens of a device's sockets mean.
#pragma once

#include "transport/tcp/link.hpp"

namespace stria::tcp {

inline constexpr Token kTimerToken = 1;
inline constexpr Token kDoorToken = 2;
inline constexpr Token kHandshakeToken = 3;
/// Of the kernel queue's descriptor, which is watched only so that a process that sleeps wakes: each call of
/// progress looks at the queue itself.
inline constexpr Token kQueueToken = 4;

/// Whether a token is a link's: the address of the link, for bulk connections with kBulkBit.
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
