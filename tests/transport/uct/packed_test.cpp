// Eager payloads that are longer than a buffer of UCX's tcp, which go out of a buffer of their link.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "tests/contract/peer.hpp"
#include "transport/uct/uct.hpp"

namespace stria::uct {
namespace {

using contract::drive;
using contract::Path;
using contract::Peer;

class UctPacked : public testing::Test {
 protected:
  static constexpr std::uint32_t kUcxBuffer = 8192;  // of UCX's tcp, by default

  /// A link to `to`, which is up.
  stria_link_t* join(Peer& to) {
    stria_link_t* const link = from.connect(to);
    EXPECT_EQ(contract::send({&from, &to}, from, link, Path::buffered, contract::header(0),
                             contract::pattern(1, 10)),
              Status::ok);
    EXPECT_TRUE(drive({&from, &to}, [&] { return to.received.size() == 1; }));
    return link;
  }
  /// Sends to a peer that stands still, until no more goes.
  void fill(stria_link_t* link) {
    std::uint16_t sequence = 1;
    for (int refused = 0; refused < 1000; from.progress()) {
      const Status sent =
          from.try_send(link, Path::buffered, contract::header(sequence), data.data(), data.size());
      ASSERT_TRUE(sent == Status::ok || sent == Status::no_resource);
      if (sent == Status::ok) ++sequence;
      refused = sent == Status::ok ? 0 : refused + 1;
    }
    EXPECT_GT(sequence, 1);
  }
  const contract::Bytes data = contract::pattern(2, 2 * kUcxBuffer);
  const int named = ::setenv("STRIA_UCT_TRANSPORT", "tcp", 1);  // before a device opens
  Peer from{uct_provider(), 1};
};

TEST_F(UctPacked, payloads_of_all_lengths_arrive) {
  Peer to(uct_provider(), 2);
  stria_link_t* const link = join(to);
  const std::uint32_t most = from.limits(link).eager_max;
  if (most < 2 * kUcxBuffer) GTEST_SKIP() << "UCX's tcp sends nothing out of the caller's memory here";
  std::uint16_t sequence = 1;
  for (const std::uint32_t bytes :
       {kUcxBuffer - 100, kUcxBuffer - 1, kUcxBuffer, kUcxBuffer + 1, most - 1, most}) {
    const contract::Bytes payload = contract::pattern(bytes, bytes);
    const std::size_t before = to.received.size();
    ASSERT_EQ(contract::send({&from, &to}, from, link, Path::buffered, contract::header(sequence++), payload),
              Status::ok);
    ASSERT_TRUE(drive({&from, &to}, [&] { return to.received.size() > before; }));
    EXPECT_EQ(to.received.back().payload, payload) << bytes;
  }
}

TEST_F(UctPacked, peers_that_stand_still_do_not_keep_others_waiting) {
  std::vector<std::unique_ptr<Peer>> still;
  Peer moving(uct_provider(), 2);
  stria_link_t* const link = join(moving);
  if (from.limits(link).eager_max < data.size())
    GTEST_SKIP() << "UCX's tcp sends nothing out of the caller's memory here";
  for (std::uint64_t i = 0; i < 20; ++i) {
    still.push_back(std::make_unique<Peer>(uct_provider(), 10 + i));
    fill(join(*still.back()));
  }
  for (std::uint16_t i = 1; i <= 5; ++i)
    ASSERT_EQ(contract::send({&from, &moving}, from, link, Path::buffered, contract::header(i), data),
              Status::ok);
  ASSERT_TRUE(drive({&from, &moving}, [&] { return moving.received.size() == 6; }));
  EXPECT_EQ(moving.received.back().payload, data);
}

// Its buffer stays until UCX's endpoint is gone, whichever side goes first.
TEST_F(UctPacked, a_link_may_end_while_ucx_has_its_payload) {
  for (const bool peer_goes : {true, false}) {
    auto other = std::make_unique<Peer>(uct_provider(), 3), one = std::make_unique<Peer>(uct_provider(), 4);
    stria_link_t* const link = one->connect(*other);
    ASSERT_EQ(contract::send({one.get(), other.get()}, *one, link, Path::buffered, contract::header(0), data),
              Status::ok);
    while (one->try_send(link, Path::buffered, contract::header(1), data.data(), data.size()) == Status::ok) {
    }
    (peer_goes ? other : one).reset();
    contract::drive_for({(peer_goes ? one : other).get()}, 200);
  }
}

}  // namespace
}  // namespace stria::uct
