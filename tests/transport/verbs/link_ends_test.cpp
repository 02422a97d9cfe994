// How links end.
#include "tests/transport/verbs/plain_world.hpp"

namespace stria::verbs::test {
namespace {

/// A connection of a device to itself.
class ToOneself : public ::testing::Test {
 protected:
  void SetUp() override {
    side = std::make_unique<Side>(1, stand_in.adapter());
    near_queue = &stand_in.queue_pair();
    far_queue = &stand_in.queue_pair();
    StandIn::join(*near_queue, *far_queue);
    side->connect(1, true, *near_queue, 1);
    near = side->link;
    ASSERT_TRUE(side->device->receives().provide_for(2));
    far_made.make(1, false, 1, *far_queue);
    far = &side->device->links().add_echo(side->device->shared(), *near);
    side->device->links().attach(*far, far_made.connection);
    ASSERT_TRUE(near->greet());
    progress();
    ASSERT_TRUE(far->ready());
  }
  void progress() {
    for (int i = 0; i < 4; ++i) side->device->progress(64);
  }
  StandIn stand_in{false};
  MadeConnection far_made;
  std::unique_ptr<Side> side;
  Link *near = nullptr, *far = nullptr;
  StandInQueuePair *near_queue = nullptr, *far_queue = nullptr;
};

TEST_F(ToOneself, no_key_is_asked_of_an_end_that_was_given_back) {
  side->device->ends().fail(*far, Status::io_error, "");
  far_queue->in_error = far->broken = true;
  progress();
  EXPECT_TRUE(near->dying);
  Bytes memory(100000);
  transport::Key key{};
  EXPECT_EQ(side->device->fast_register(near, contract::contiguous(memory), STRIA_ACCESS_REMOTE_READ, key),
            Status::peer_failed);
  near_queue->in_error = near->broken = true;
  progress();
  EXPECT_EQ(side->downs, 1);
}

TEST_F(ToOneself, the_end_that_packets_come_out_of_goes_first) {
  ASSERT_EQ(near->pio_send(contract::header(7), nullptr, 0), Status::ok);
  side->device->ends().fail(*near, Status::io_error, "");
  near_queue->in_error = near->broken = true;
  progress();
  EXPECT_EQ(side->downs, 0) << "more may come, in the name of the near end";
  EXPECT_EQ(side->arrived, std::vector<std::uint16_t>{7});
  far_queue->in_error = far->broken = true;
  progress();
  EXPECT_EQ(side->downs, 1);
}

using LinkEnds = PlainWorld;

TEST_F(LinkEnds, a_peer_that_connected_and_died_before_it_greeted_is_noticed) {
  join({});
  const std::uint64_t patience = b->device->shared().settings.connect_ms;
  EXPECT_TRUE(b->link->probe(1000));
  EXPECT_TRUE(b->link->probe(1000 + patience));
  EXPECT_TRUE(b_adapter.posted.empty()) << "it may still be busy with our answer";
  b_queue->in_error = true;  // what the adapter finds out when nobody answers
  EXPECT_TRUE(b->link->probe(1001 + patience));
  EXPECT_EQ(b_adapter.posted.size(), 1u);
  progress();
  EXPECT_TRUE(b->link->dying);
  b->link->broken = true;
  progress();
  EXPECT_EQ(b->downs, 1);
}

TEST_F(LinkEnds, where_no_adapter_can_be_asked_a_greeting_is_waited_for_as_long_as_for_an_answer) {
  join({.iwarp = true});
  const std::uint64_t most =
      b->device->shared().settings.connect_ms + b->device->shared().can.longest_silence_ms;
  EXPECT_TRUE(b->link->probe(1000));
  EXPECT_TRUE(b->link->probe(1000 + most));
  EXPECT_FALSE(b->link->probe(1001 + most));
  EXPECT_TRUE(b_adapter.posted.empty());
  greet();
  EXPECT_TRUE(b->link->probe(2000 + most));
}

/// A read by a registration of its own, some of it under way and the rest waiting for room.
TEST_F(LinkEnds, a_device_that_closes_leaves_no_memory_registered) {
  open({.iwarp = true});
  const std::size_t before = a_adapter.registrations();
  const transport::Key key = key_of_blocks();
  Bytes into(kAll), into_too(kAll), more(kAll);
  Ending ending, ending_too, waiting;
  a_adapter.completions = 0;
  for (const auto& [sink, end] :
       {std::pair{&into, &ending}, std::pair{&into_too, &ending_too}, std::pair{&more, &waiting}})
    static_cast<void>(a->link->get(contract::contiguous(*sink), key, 0, &end->base));
  EXPECT_GT(a_adapter.registrations(), before);
  a->device->close(0);
  EXPECT_EQ(ending.calls, 0) << "nothing is told any more";
  a->device.reset();
  EXPECT_EQ(a_adapter.registrations(), 0u);
}

/// What a peer may send that is no message of this provider: with immediate data, which comes in the word
/// where a key that the adapter ended comes else.
class KeyOfB : public PlainWorld {
 protected:
  void SetUp() override {
    open();
    key = key_of_blocks();
    std::memcpy(&rkey, key.data, sizeof rkey);  // the first word of KeyData
    ASSERT_TRUE(b_adapter.is_valid(rkey));
  }
  void send(PacketKind kind, bool immediate) {
    struct {
      Prefix prefix;
      stria_header_t header;
    } packet{{0, kind, 0, b->link->number().number}, contract::header(1)};
    ibv_qp_ex* const queue = &a_queue->qp;
    queue->wr_id = queue->wr_flags = 0;
    ::ibv_wr_start(queue);
    if (immediate)
      ::ibv_wr_send_imm(queue, rkey);
    else
      ::ibv_wr_send(queue);
    ::ibv_wr_set_inline_data(queue, &packet, sizeof packet);
    ASSERT_EQ(::ibv_wr_complete(queue), 0);
    progress();
  }
  void expect_that_it_can_be_ended() {
    EXPECT_EQ(b->device->counters().closed_by_peer, 0u);
    EXPECT_TRUE(b_adapter.is_valid(rkey));
    EXPECT_EQ(b->device->invalidate(key), Status::ok);
    EXPECT_FALSE(b_adapter.is_valid(rkey));
  }
  transport::Key key{};
  std::uint32_t rkey = 0;
};

TEST_F(KeyOfB, is_not_ended_by_immediate_data) {
  send(PacketKind::closing, true);
  expect_that_it_can_be_ended();
}

TEST_F(KeyOfB, is_not_ended_by_what_an_earlier_completion_left_behind) {
  send(PacketKind::pio, true);
  send(PacketKind::closing, false);
  expect_that_it_can_be_ended();
}

}  // namespace
}  // namespace stria::verbs::test
