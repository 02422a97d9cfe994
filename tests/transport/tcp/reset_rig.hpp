// Two devices with a link whose connections are to be reset.
#pragma once

#include <cstdlib>

#include "tests/transport/tcp/device_rig.hpp"
#include "tests/transport/tcp/reset.hpp"
#include "tests/transport/tcp/socket_pair.hpp"

namespace stria::tcp {

/// The first device makes the link.
struct ResetPair {
  explicit ResetPair(std::uint64_t first = 1) : a(tcp_provider(), first), b(tcp_provider(), first + 1) {
    to_b = a.connect(b);
    EXPECT_EQ(
        contract::send({&a, &b}, a, to_b, contract::Path::buffered, contract::header(1), contract::Bytes(8)),
        Status::ok);
    EXPECT_TRUE(run([&] { return b.received.size() == 1; }));
    b.received.clear();
    to_a = b.ups[first];
  }
  bool run(const std::function<bool()>& done) { return drive({&a, &b}, done); }
  bool is_whole() { return a.downs.empty() && b.downs.empty(); }
  Peer a, b;
  stria_link_t* to_b = nullptr;
  stria_link_t* to_a = nullptr;
};

/// Where the kernel resets connections for this process.
struct WithResets : testing::Test {
  void SetUp() override {
    const SocketPair pair;
    if (const int error = reset_connection(pair.one.get()); error != 0)
      GTEST_SKIP() << "the kernel resets no connection for this process (SOCK_DESTROY): "
                   << std::strerror(error);
  }
};

inline stria_provider_key_t key_for(Peer& owner, stria_link_t* link, const stria_payload_t& memory) {
  stria_provider_key_t key{};
  EXPECT_EQ(owner.fast_register(memory, STRIA_ACCESS_REMOTE_READ, key, link), Status::ok);
  return key;
}

}  // namespace stria::tcp
