// A receiver that announces messages of its own to a far peer reads large ones by get; one that only receives
// takes fragments. The provider is a table of functions: a get is done at once, whatever is sent goes
// nowhere.
#include <gtest/gtest.h>

#include <vector>

#include "rndv/engine.hpp"

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
  Scheme receive(bool written = false) {
    RecvOp op;
    prepare(op);
    Announcement announced;
    announced.length = kLength;
    announced.sender_op = 99;
    announced.written = written;
    announced.key.bytes = 8;
    if (link_.can_map) announced.key.data[STRIA_KEY_FLAGS_AT] = STRIA_KEY_MAPPED;
    const auto reads = [this] { return engine_.counters().get + engine_.counters().mapped; };
    const std::uint64_t before = reads();
    engine_.accept(op, announced);
    engine_.progress();
    const bool got = reads() != before;
    if (op.state != Operation::State::idle) engine_.fail_link(link_, Status::peer_failed);
    return got ? Scheme::get : Scheme::pipeline;
  }

  transport::LinkRef link_;
  Engine engine_;
  std::vector<std::byte> memory_;
};

TEST_F(Busy, what_is_received_beside_a_send_is_read) {
  EXPECT_EQ(receive(), Scheme::pipeline);
  SendOp send;
  prepare(send);
  ASSERT_EQ(engine_.announce(send, wire::make_header(wire::Kind::rts, 5)), Status::ok);
  EXPECT_EQ(receive(), Scheme::get);
  engine_.abandon(send);
  EXPECT_EQ(receive(), Scheme::get) << "an exchange goes on: the next send is about to begin";
  EXPECT_EQ(receive(), Scheme::pipeline) << "the last one met no send";
}

TEST_F(Busy, what_may_be_new_is_not_read_beside_a_send) {
  SendOp send;
  prepare(send);
  ASSERT_EQ(engine_.announce(send, wire::make_header(wire::Kind::rts, 5)), Status::ok);
  EXPECT_EQ(receive(true), Scheme::pipeline);
}

TEST_F(Busy, now_and_then_new_bytes_of_mapped_memory_show_how_far_the_peer_is) {
  constexpr int kReceives = 160;
  link_.can_map = true;
  for (const bool far : {false, true})
    for (const bool written : {false, true}) {
      link_.far = far;
      int fragments = 0;
      for (int i = 0; i < kReceives; ++i) fragments += receive(written) == Scheme::pipeline ? 1 : 0;
      EXPECT_EQ(fragments, !written ? 0 : far ? kReceives : kReceives / 16) << far << written;
    }
}

}  // namespace
}  // namespace stria::rndv
