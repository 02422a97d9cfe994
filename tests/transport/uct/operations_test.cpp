// How ended operations are reported: a peer that stands still delays its own operations alone.
#include "transport/uct/operations.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <stdexcept>

#include "tests/contract/peer.hpp"
#include "transport/uct/ends.hpp"
#include "transport/uct/link.hpp"

namespace stria::uct {
namespace {

class UctOperations : public testing::Test {
 protected:
  UctOperations() {
    const Interface::Calls calls{nullptr,
                                 [](void*, Am, std::span<const std::byte>, bool) noexcept { return false; },
                                 [](void*, uct_ep_h, ucs_status_t) noexcept {}};
    auto opened = Interface::open({"tcp", "", 1000, false}, calls);
    if (!opened) throw std::runtime_error(opened.error().context);
    interface = *std::move(opened);
    shared.interface = interface.get();
    shared.operations = &operations;
    own.be_own();
  }
  ~UctOperations() override { operations.abandon(still); }

  /// Takes an operation and ends it as UCX does.
  void end(Link& link, contract::Ending& ending, bool finishes) {
    Operation* const operation = operations.take(link, &ending.base, 1);
    ASSERT_NE(operation, nullptr);
    operation->finishes = finishes;
    operations.end(*operation, Status::ok);
  }

  std::unique_ptr<Interface> interface;
  Shared shared;
  Operations operations{shared};
  Link still{shared, {}, Prefix(0, 1)};  // takes no packet: it is not up
  Link own{shared, {}, Prefix(1, 1)};    // takes packets: the link of the device to itself
};

TEST_F(UctOperations, a_peer_that_takes_no_packet_delays_no_operation_of_another) {
  contract::Ending waits, plain, followed;
  end(still, waits, true);
  end(own, plain, false);
  end(own, followed, true);
  EXPECT_EQ(operations.report(10), 2u);
  EXPECT_EQ(plain.status, Status::ok);
  EXPECT_EQ(followed.status, Status::ok);
  EXPECT_EQ(shared.loop.count(), 1u) << "the packet that follows the get";
  EXPECT_EQ(waits.calls, 0);
  EXPECT_TRUE(operations.have_ended());
  EXPECT_EQ(operations.report(10), 0u);
  operations.abandon(still);
  EXPECT_EQ(waits.status, Status::peer_failed);
  EXPECT_FALSE(operations.have_ended());
}

TEST_F(UctOperations, no_more_are_reported_than_the_budget_allows) {
  contract::Ending waits, first, second;
  end(still, waits, true);
  end(own, first, false);
  end(own, second, false);
  EXPECT_EQ(operations.report(0), 0u);
  EXPECT_EQ(operations.report(1), 1u);
  EXPECT_EQ(first.calls, 1) << "in the order of their ends";
  EXPECT_EQ(second.calls, 0);
  EXPECT_EQ(operations.report(1), 1u);
  EXPECT_EQ(second.calls, 1);
  operations.abandon(still);
}

}  // namespace
}  // namespace stria::uct
