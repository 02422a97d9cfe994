// Two connected TCP sockets of this process, on the loopback interface.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.hpp"

namespace stria::tcp {

struct SocketPair {
  SocketPair() {
    const UniqueFd door(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof here;
    auto* const address = reinterpret_cast<sockaddr*>(&here);
    EXPECT_EQ(::bind(door.get(), address, bytes), 0);
    EXPECT_EQ(::listen(door.get(), 1), 0);
    EXPECT_EQ(::getsockname(door.get(), address, &bytes), 0);
    one.reset(::socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_EQ(::connect(one.get(), address, bytes), 0);
    other.reset(::accept(door.get(), nullptr, nullptr));
    EXPECT_TRUE(other);
  }
  UniqueFd one, other;
};

}  // namespace stria::tcp
