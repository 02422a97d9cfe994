// What the tests of the tcp provider share: the address of a device under test, and raw TCP connections to
// it.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

#include "tests/contract/peer.hpp"
#include "transport/tcp/attempt.hpp"
#include "transport/tcp/clock.hpp"
#include "transport/tcp/tcp.hpp"

namespace stria::tcp {

using contract::drive;
using contract::Peer;

inline constexpr std::string_view kSecret = "a secret of sixteen";  // of contract::Peer

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// The address that a device of this job gives, read and written anew.
inline Address read_address(const Peer& peer) {
  return *decode(peer.address(), bytes_of(kSecret));
}

/// A connection to the first address of `to`, with nothing said.
inline UniqueFd connection_to(const Address& to) {
  UniqueFd socket = begin_connection({to.ips.front()}, to.port);
  EXPECT_TRUE(socket);
  return socket;
}

inline void say(const UniqueFd& socket, std::span<const std::byte> bytes) {
  EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

/// What comes on a socket: bytes, nothing yet (-EAGAIN), or its end (0).
inline ssize_t hear(const UniqueFd& socket) {
  std::byte some[256];
  const ssize_t got = ::recv(socket.get(), some, sizeof some, MSG_DONTWAIT);
  return got >= 0 ? got : errno == EAGAIN ? -EAGAIN : 0;
}

/// Drives the device until the handshake of someone with this secret and worker id is over.
inline Attempt::State shake_hands(Peer& device, Attempt& attempt, const Handshake& own) {
  drive({&device}, [&] { return attempt.advance(own, now_ms()) != Attempt::State::going; });
  return attempt.state();
}

}  // namespace stria::tcp
