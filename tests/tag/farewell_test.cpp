// A peer that breaks the protocol is told that it was given up, and one that gave this worker up is believed.
#include <algorithm>
#include <chrono>

#include "tests/tag/hostile_peer.hpp"
#include "tests/tag/variable.hpp"

namespace stria::test {
namespace {

/// A farewell that had no room is sent again when the worker looks after its peers.
struct OftenLooked {
  Variable liveness{"STRIA_LIVENESS_MS", "1"};
};

class Misbehaving : OftenLooked, public HostilePeer {
 protected:
  Misbehaving() : HostilePeer(without_room()) {}
  static constexpr std::chrono::seconds kLongest{30};
  static fake::FabricOptions without_room() {
    fake::FabricOptions options = quick();
    options.no_resource_percent = 90;
    return options;
  }
  long farewells() {
    return std::count_if(raw_->received.begin(), raw_->received.end(), [](const contract::Received& one) {
      return one.header.kind == static_cast<std::uint8_t>(wire::Kind::gone);
    });
  }
};

TEST_F(Misbehaving, is_told_once_that_it_was_given_up) {
  packet(wire::Kind::rts, 0, 3);
  const auto deadline = std::chrono::steady_clock::now() + kLongest;
  while (farewells() == 0 && std::chrono::steady_clock::now() < deadline) progress();
  EXPECT_EQ(farewells(), 1);
  for (int i = 0; i < 1000; ++i) progress();
  EXPECT_EQ(farewells(), 1);
}

TEST_F(HostilePeer, that_gives_this_worker_up_ends_what_names_it) {
  Op op;
  post(op);
  packet(wire::Kind::gone, 0, 0);
  EXPECT_EQ(op.callbacks, 1);
  EXPECT_EQ(op.info.status, STRIA_ERR_PEER_FAILED);
  for (int i = 0; i < 100; ++i) progress();
  EXPECT_TRUE(raw_->received.empty()) << "a farewell is not answered";
}

}  // namespace
}  // namespace stria::test
