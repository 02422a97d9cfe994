// A receiver that announces messages of its own to a far peer reads large ones by get; one that only receives
// takes fragments. The provider is a table of functions: a get is done at once, whatever is sent goes
// nowhere.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "rndv/engine.hpp"
#include "rndv/protocols/list.hpp"

namespace stria::rndv {
namespace {

constexpr std::uint64_t kLength = 2u << 20;

const transport::HotOps kOps = {
    .eager_send = [](auto...) { return STRIA_OK; },
    .get = [](auto...) { return STRIA_OK; },
    .send_invalidate = [](auto...) { return STRIA_OK; },
    .invalidate = [](auto...) { return STRIA_OK; },
};

class Busy : public ::testing::Test {
 protected:
  Busy() : engine_({}, {this, [](void*, SendOp&) {}, [](void*, RecvOp&) {}}), memory_(kLength) {
    link_.ops = &kOps;
    link_.eager_max = 4096;
    link_.can_get = true;
    link_.far = true;
  }
  ~Busy() override { engine_.end_all(Status::peer_failed); }

  void prepare(Operation& op) {
    op.link = &link_;
    op.memory = transport::LinkRef::contiguous_payload(memory_.data(), static_cast<std::int64_t>(kLength));
    op.length = kLength;
  }
  /// Receives one message to its end; which scheme was taken.
  std::string_view receive() {
    RecvOp op;
    prepare(op);
    Announcement announced;
    announced.length = kLength;
    announced.sender_op = 99;
    announced.key.bytes = 8;
    const std::uint64_t before = engine_.counters().get;
    engine_.accept(op, announced);
    engine_.progress();
    const bool got = engine_.counters().get != before;
    if (op.state != Operation::State::idle) engine_.fail_link(link_, Status::peer_failed);
    return got ? kGet.name : kPipeline.name;
  }

  transport::LinkRef link_;
  Engine engine_;
  std::vector<std::byte> memory_;
};

TEST_F(Busy, what_is_received_beside_a_send_is_read) {
  EXPECT_EQ(receive(), kPipeline.name);
  SendOp send;
  prepare(send);
  ASSERT_EQ(engine_.announce(send, wire::make_header(wire::Kind::rts, 5)), Status::ok);
  EXPECT_EQ(receive(), kGet.name);
  engine_.abandon(send);
  EXPECT_EQ(receive(), kGet.name) << "an exchange goes on: the next send is about to begin";
  EXPECT_EQ(receive(), kPipeline.name) << "the last one met no send";
}

}  // namespace
}  // namespace stria::rndv
