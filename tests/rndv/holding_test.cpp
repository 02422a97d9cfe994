// Memory that a provider still reads or writes is not given back: what a send gave to zero-copy sends, and
// what a receive named for payloads that are being placed. The provider is the test, so every order of events
// is as it says.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>

#include "rndv/engine.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {
namespace {

constexpr std::uint64_t kLength = 100000;
constexpr std::uint32_t kFragment = 8192;
constexpr std::uint8_t kDevice = 3;

class Holding : public testing::Test {
 protected:
  struct Sent {
    transport::Header header;
    std::vector<std::byte> payload;
    transport::Completion* completion;  // null: not a zero-copy send
  };
  Holding()
      : engine_({.force = Force::pipeline, .fragment_bytes = kFragment, .fragment_fixed = true},
                {this, [](void* self, SendOp& op) { static_cast<Holding*>(self)->ended(op); },
                 [](void* self, RecvOp& op) { static_cast<Holding*>(self)->ended(op); }}) {
    provider_ = this;
    ops_.eager_send = [](stria_link_t*, const stria_header_t* header, const stria_payload_t* payload) {
      if (provider_->on_send_) provider_->on_send_();
      if (provider_->is_full_) return STRIA_ERR_NO_RESOURCE;
      provider_->sent(*header, *payload, nullptr);
      return STRIA_OK;
    };
    ops_.zcopy_send = [](stria_link_t*, const stria_header_t* header, const stria_payload_t* payload,
                         stria_completion_t* completion) {
      if (!provider_->can_send_in_place_) return STRIA_ERR_UNSUPPORTED;
      provider_->sent(*header, *payload, completion);
      return STRIA_IN_PROGRESS;
    };
    for (transport::LinkRef& link : links_) {
      transport::LinkLimits limits{};
      limits.eager_max = 4096;
      limits.zcopy_max = 3 * kFragment;
      link.ops = &ops_;
      link.take(limits);
    }
  }
  /// As a worker closes: the provider lets go of the memory before what is held ends.
  ~Holding() override {
    for (transport::LinkRef& link : links_) engine_.fail_link(link, Status::cancelled);
    engine_.end_all(Status::cancelled);
    EXPECT_TRUE(engine_.idle());
  }
  void sent(const transport::Header& header, const transport::Payload& payload,
            transport::Completion* completion) {
    Sent& one = sent_.emplace_back(Sent{header, {}, completion});
    one.payload.resize(static_cast<std::size_t>(payload.length));
    transport::pack(payload, one.payload.data());
  }
  void ended(const Operation& op) {
    ++ends_;
    outcome_ = op.outcome;
  }

  template <class Op>
  Op& prepare(std::deque<Op>& ops) {
    Op& op = ops.emplace_back();
    op.link = &links_[0];
    op.memory = transport::LinkRef::contiguous_payload(memory_.data(), static_cast<std::int64_t>(kLength));
    op.length = kLength;
    return op;
  }
  /// A receive of the pipeline, whose RTR is out; its name.
  wire::OpId receive() {
    Announcement announced;
    announced.length = kLength;
    announced.sender_op = 99;
    engine_.accept(prepare(receives_), announced);
    EXPECT_EQ(sent_.back().header.kind, static_cast<std::uint8_t>(wire::Kind::rtr));
    wire::RtrBody body;
    std::memcpy(&body, sent_.back().payload.data(), sizeof body);
    EXPECT_EQ(body.fragment_bytes, kFragment);
    return body.receiver_op;
  }
  bool place(wire::OpId op, std::uint64_t begin, std::uint32_t bytes = kFragment, unsigned link = 0) {
    transport::Payload memory{};
    const auto header = wire::make_fragment(op, begin);
    const bool placed = engine_.place(links_[link], {header, bytes, kDevice}, memory);
    if (placed) {
      EXPECT_EQ(transport::contiguous_begin(memory), memory_.data() + begin);
      EXPECT_EQ(memory.length, bytes);
    }
    return placed;
  }
  Engine::FragmentOutcome placed(wire::OpId op, std::uint64_t begin, std::uint32_t bytes = kFragment) {
    const transport::Header header = wire::make_fragment(op, begin);
    return engine_.on_placed(links_[0], {&header, nullptr, bytes, 1 | STRIA_PACKET_PLACED, 0});
  }
  Engine::FragmentOutcome fragment(wire::OpId op, std::uint64_t begin, std::uint32_t bytes = kFragment) {
    const transport::Header header = wire::make_fragment(op, begin);
    const std::vector<std::byte> payload(bytes);
    return engine_.on_frag(links_[0], {&header, payload.data(), bytes, 1, 0});
  }
  void fin(wire::OpId op, Status status) {
    const transport::Header header =
        wire::make_header(wire::Kind::fin, op, static_cast<std::uint32_t>(static_cast<int>(status)));
    engine_.on_fin(links_[0], {&header, nullptr, 0, 1, 0});
  }
  /// An announced send; its name.
  wire::OpId announce() {
    EXPECT_EQ(engine_.announce(prepare(sends_), wire::make_header(wire::Kind::rts, 1)), Status::ok);
    return sends_.back().id;
  }
  void ask_for(wire::OpId op, std::uint64_t offset = 0) {
    const wire::RtrBody body{77, offset, kLength - offset, kFragment, 0, 0, {}};
    const transport::Header header = wire::make_header(wire::Kind::rtr, op);
    EXPECT_TRUE(engine_.on_rtr(links_[0], {&header, &body, sizeof body, 1, 0}));
    for (int i = 0; i < 100; ++i) engine_.progress();
  }
  std::size_t outstanding() const {
    std::size_t count = 0;
    for (const Sent& one : sent_) count += one.completion != nullptr ? 1 : 0;
    return count;
  }
  /// Ends the last `count` zero-copy sends that are outstanding.
  void complete(std::size_t count, stria_status_t status = STRIA_OK) {
    for (auto one = sent_.rbegin(); count > 0 && one != sent_.rend(); ++one) {
      if (one->completion == nullptr) continue;
      transport::Completion* const completion = std::exchange(one->completion, nullptr);
      completion->done(completion, status);
      --count;
    }
  }

  static inline Holding* provider_ = nullptr;
  transport::HotOps ops_;
  transport::LinkRef links_[2];
  Engine engine_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(kLength);
  std::deque<SendOp> sends_;
  std::deque<RecvOp> receives_;
  std::deque<Sent> sent_;
  bool can_send_in_place_ = true, is_full_ = false;
  std::function<void()> on_send_;
  unsigned ends_ = 0;
  Status outcome_ = Status::in_progress;
};

TEST_F(Holding, a_send_ends_with_the_last_of_its_zero_copy_sends) {
  const wire::OpId op = announce();
  ask_for(op);
  const std::size_t all = (kLength + kFragment - 1) / kFragment;
  ASSERT_EQ(outstanding(), all);
  EXPECT_TRUE(engine_.resting()) << "nothing to do but wait for the provider";
  complete(all - 1);
  EXPECT_EQ(ends_, 0u);
  complete(1);
  EXPECT_EQ(ends_, 1u);
  EXPECT_EQ(outcome_, Status::ok);
}

TEST_F(Holding, a_send_whose_link_dies_ends_once_when_each_of_its_zero_copy_sends_has_ended) {
  for (const bool link_first : {false, true}) {
    ends_ = 0;
    const wire::OpId op = announce();
    ask_for(op);
    const std::size_t all = outstanding();
    if (link_first) engine_.fail_link(links_[0], Status::peer_failed);
    complete(all - 1, STRIA_ERR_PEER_FAILED);
    EXPECT_EQ(ends_, 0u);
    complete(1, STRIA_ERR_PEER_FAILED);
    EXPECT_EQ(ends_, 1u);
    EXPECT_EQ(outcome_, Status::peer_failed);
    engine_.fail_link(links_[0], Status::peer_failed);
    EXPECT_EQ(ends_, 1u);
  }
}

TEST_F(Holding, a_fragment_that_failed_fails_its_send_also_when_all_were_sent) {
  ask_for(announce());
  complete(1, STRIA_ERR_IO);
  complete(outstanding());
  EXPECT_EQ(ends_, 1u);
  EXPECT_EQ(outcome_, Status::io_error);
}

TEST_F(Holding, a_send_that_its_receiver_ended_keeps_its_memory_and_is_not_begun_again) {
  const wire::OpId op = announce();
  ask_for(op);
  fin(op, Status::io_error);
  EXPECT_EQ(ends_, 0u);
  const std::size_t before = sent_.size();
  ask_for(op);
  EXPECT_EQ(sent_.size(), before);
  complete(outstanding());
  EXPECT_EQ(ends_, 1u);
}

TEST_F(Holding, a_put_that_the_peer_has_whole_ends_when_its_memory_is_free) {
  engine_.start_remote_put(prepare(sends_), 5, 0);
  const wire::OpId op = sends_.back().id;
  ask_for(op);
  ASSERT_GT(outstanding(), 0u);
  fin(op, Status::ok);
  EXPECT_EQ(ends_, 0u);
  const std::size_t before = sent_.size();
  ask_for(op);
  EXPECT_EQ(sent_.size(), before) << "it is over, and does not begin again";
  complete(outstanding());
  EXPECT_EQ(ends_, 1u);
  EXPECT_EQ(outcome_, Status::ok);
}

TEST_F(Holding, a_region_is_busy_while_a_provider_reads_it_for_a_peer) {
  const auto memory =
      transport::LinkRef::contiguous_payload(memory_.data(), static_cast<std::int64_t>(kLength));
  engine_.serve_get(links_[0], 42, {0, kLength, 77, kFragment, 0}, memory, Status::ok);
  for (int i = 0; i < 100; ++i) engine_.progress();
  EXPECT_TRUE(engine_.region_busy(42));
  complete(outstanding() - 1);
  EXPECT_TRUE(engine_.region_busy(42));
  complete(1);
  EXPECT_FALSE(engine_.region_busy(42));
}

TEST_F(Holding, a_region_is_busy_in_a_round_of_progress_that_has_not_come_to_it) {
  const auto memory =
      transport::LinkRef::contiguous_payload(memory_.data(), static_cast<std::int64_t>(kLength));
  can_send_in_place_ = false;
  is_full_ = true;
  for (const std::uint64_t region : {41, 42})
    engine_.serve_get(links_[0], region, {0, kLength, 77, kFragment, 0}, memory, Status::ok);
  unsigned asked = 0;
  on_send_ = [&] {
    ++asked;
    EXPECT_TRUE(engine_.region_busy(41));
    EXPECT_TRUE(engine_.region_busy(42));
  };
  engine_.progress();
  EXPECT_EQ(asked, 2u);
  on_send_ = nullptr;
}

TEST_F(Holding, a_send_out_of_memory_that_the_provider_refuses_is_packed_into_shorter_fragments) {
  can_send_in_place_ = false;
  const std::size_t before = sent_.size() + 1;
  ask_for(announce());
  EXPECT_EQ(ends_, 1u);
  EXPECT_EQ(sent_.size() - before, (kLength + 4095) / 4096);
}

TEST_F(Holding, no_memory_is_named_for_a_fragment_that_does_not_fit) {
  const wire::OpId op = receive();
  EXPECT_TRUE(place(op, kFragment));
  ASSERT_EQ(fragment(op, 4 * kFragment), Engine::FragmentOutcome::handled);
  EXPECT_FALSE(place(op, kFragment)) << "it is being placed";
  EXPECT_FALSE(place(op, 2 * kFragment - 1)) << "its first byte is being placed";
  EXPECT_FALSE(place(op, 1)) << "its last byte is being placed";
  EXPECT_FALSE(place(op, 4 * kFragment)) << "it is there";
  EXPECT_FALSE(place(op, 4 * kFragment - 1)) << "all but its first byte is there";
  EXPECT_FALSE(place(op, kLength)) << "beyond the end";
  EXPECT_FALSE(place(op, kLength - kFragment + 1)) << "its last byte is beyond the end";
  EXPECT_FALSE(place(op, wire::kPutting - 1));
  EXPECT_FALSE(place(op, 2 * kFragment, 0));
  EXPECT_FALSE(place(op, 2 * kFragment, kFragment, 1)) << "by another link";
  EXPECT_FALSE(place(op + 1, 2 * kFragment)) << "of no operation";
  EXPECT_FALSE(place(announce(), 0)) << "of a send";
  EXPECT_TRUE(place(op, 2 * kFragment, 2 * kFragment)) << "up to what is there";
  EXPECT_TRUE(place(op, 0)) << "up to what is being placed";
  EXPECT_TRUE(place(op, kLength - 1, 1));
  EXPECT_EQ(ends_, 0u);
}

TEST_F(Holding, what_is_placed_in_any_order_completes_a_receive) {
  const wire::OpId op = receive();
  ASSERT_TRUE(place(op, kFragment, kLength - kFragment));
  ASSERT_TRUE(place(op, 0));
  EXPECT_EQ(placed(op, kFragment, kLength - kFragment), Engine::FragmentOutcome::handled);
  EXPECT_EQ(ends_, 0u);
  EXPECT_EQ(placed(op, 0), Engine::FragmentOutcome::handled);
  EXPECT_EQ(ends_, 1u);
  EXPECT_EQ(outcome_, Status::ok);
}

TEST_F(Holding, a_packet_is_not_placed_where_no_memory_was_named) {
  const wire::OpId op = receive();
  EXPECT_EQ(placed(op, 0), Engine::FragmentOutcome::misfit);
  ASSERT_TRUE(place(op, 0));
  EXPECT_EQ(placed(op, kFragment), Engine::FragmentOutcome::misfit);
  EXPECT_EQ(placed(op, 0, kFragment - 1), Engine::FragmentOutcome::misfit);
  EXPECT_EQ(placed(op, 0), Engine::FragmentOutcome::handled);
  EXPECT_EQ(placed(op, 0), Engine::FragmentOutcome::misfit);
}

TEST_F(Holding, a_receive_that_its_sender_refuses_ends_when_nothing_is_placed_any_more) {
  const wire::OpId op = receive();
  ASSERT_TRUE(place(op, 0));
  ASSERT_TRUE(place(op, 3 * kFragment));
  fin(op, Status::access_error);
  EXPECT_EQ(ends_, 0u);
  EXPECT_FALSE(place(op, 5 * kFragment)) << "no more is named";
  EXPECT_EQ(placed(op, 3 * kFragment), Engine::FragmentOutcome::handled);
  EXPECT_EQ(ends_, 0u);
  EXPECT_EQ(placed(op, 0), Engine::FragmentOutcome::handled);
  EXPECT_EQ(ends_, 1u);
  EXPECT_EQ(outcome_, Status::access_error);
}

TEST_F(Holding, a_receive_of_a_peer_that_is_given_up_ends_when_nothing_is_placed_any_more) {
  const wire::OpId op = receive();
  ASSERT_TRUE(place(op, 0));
  engine_.fail_link(links_[0], Status::io_error);
  EXPECT_EQ(ends_, 0u);
  EXPECT_EQ(placed(op, 0), Engine::FragmentOutcome::handled);
  EXPECT_EQ(ends_, 1u);
  EXPECT_EQ(outcome_, Status::io_error);
}

TEST_F(Holding, a_receive_of_a_peer_that_was_given_up_ends_with_its_link_and_with_no_other) {
  const wire::OpId op = receive();
  ASSERT_TRUE(place(op, 0));
  engine_.fail_link(links_[0], Status::io_error);
  engine_.end_placing(links_[0], kDevice + 1);
  engine_.end_placing(links_[1], kDevice);
  EXPECT_EQ(ends_, 0u);
  engine_.end_placing(links_[0], kDevice);
  EXPECT_EQ(ends_, 1u);
}

TEST_F(Holding, a_receive_whose_link_dies_in_the_middle_of_a_payload_ends) {
  const wire::OpId op = receive();
  ASSERT_TRUE(place(op, 0));
  engine_.end_placing(links_[0], kDevice);
  EXPECT_EQ(ends_, 0u) << "its peer may have other links";
  engine_.fail_link(links_[0], Status::peer_failed);
  EXPECT_EQ(ends_, 1u);
  EXPECT_EQ(outcome_, Status::peer_failed);
}

TEST_F(Holding, a_wrong_fragment_ends_a_receive_and_tells_its_sender_when_nothing_is_placed_any_more) {
  const wire::OpId op = receive();
  ASSERT_TRUE(place(op, kFragment));
  EXPECT_EQ(fragment(op, kFragment + 5), Engine::FragmentOutcome::misfit);
  const std::size_t before = sent_.size();
  EXPECT_EQ(ends_, 0u);
  EXPECT_EQ(placed(op, kFragment), Engine::FragmentOutcome::handled);
  EXPECT_EQ(ends_, 1u);
  EXPECT_EQ(outcome_, Status::io_error);
  ASSERT_EQ(sent_.size(), before + 1);
  EXPECT_EQ(sent_.back().header.kind, static_cast<std::uint8_t>(wire::Kind::fin));
}

TEST_F(Holding, the_end_of_all_ends_what_is_held) {
  announce();
  ask_for(sends_.back().id);
  ASSERT_TRUE(place(receive(), 0));
  engine_.fail_link(links_[0], Status::cancelled);
  EXPECT_EQ(ends_, 0u);
  engine_.end_all(Status::cancelled);
  EXPECT_EQ(ends_, 2u);
  sent_.clear();
}

TEST_F(Holding, memory_in_many_small_blocks_is_neither_sent_from_nor_placed_into) {
  const datatype::Layout column = *datatype::Layout::vector(4, 1, 16, datatype::Layout::bytes(8));
  std::vector<std::byte> memory(static_cast<std::size_t>(column.extent()) * 1000);
  Announcement announced;
  announced.length = 32000;
  announced.sender_op = 99;
  RecvOp& op = prepare(receives_);
  op.memory = {&column, memory.data(), 1000, 0, 32000};
  op.length = 32000;
  engine_.accept(op, announced);
  EXPECT_FALSE(place(op.id, 0));
  SendOp& send = prepare(sends_);
  send.memory = op.memory;
  send.length = op.length;
  ASSERT_EQ(engine_.announce(send, wire::make_header(wire::Kind::rts, 1)), Status::ok);
  const wire::RtrBody body{77, 0, 32000, kFragment, 0, 0, {}};
  const transport::Header header = wire::make_header(wire::Kind::rtr, send.id);
  EXPECT_TRUE(engine_.on_rtr(links_[0], {&header, &body, sizeof body, 1, 0}));
  EXPECT_EQ(outstanding(), 0u);
}

}  // namespace
}  // namespace stria::rndv
