// A worker against a peer that breaks the protocol is not harmed: it gives the peer up, with one line of the
// log, its requests end, and no more of its bytes are kept. Packets that mean nothing are dropped, and do not
// fill the log.
#include "tests/tag/hostile_peer.hpp"

namespace stria::test {
namespace {

TEST_F(HostilePeer, that_sends_more_than_it_was_granted_is_given_up) {
  Op named;
  post(named);
  testing::internal::CaptureStderr();
  // The receiver grants up to 1 MiB at a time; nothing is received, and this peer believes no limit.
  for (std::uint16_t i = 0; i < 10000; ++i) packet(wire::Kind::eager, i, 16000);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(named.callbacks, 1);
  EXPECT_EQ(named.info.status, STRIA_ERR_IO);
  EXPECT_LE(counters().unexpected_bytes_max, 64u << 20) << "the budget";
  EXPECT_EQ(errors(log), 1) << log;
  EXPECT_NE(log.find("0xbad"), std::string::npos) << log;
}

TEST_F(HostilePeer, that_sends_too_much_out_of_order_is_given_up) {
  Op named;
  post(named);
  testing::internal::CaptureStderr();
  for (std::uint16_t i = 1; i < 1000; ++i) packet(wire::Kind::eager, i, 16000);  // 0 never comes
  EXPECT_EQ(errors(testing::internal::GetCapturedStderr()), 1);
  EXPECT_EQ(named.callbacks, 1);
  EXPECT_EQ(named.info.status, STRIA_ERR_IO);
}

TEST_F(HostilePeer, that_sends_a_sequence_number_twice_is_given_up) {
  Op named;
  post(named);
  testing::internal::CaptureStderr();
  packet(wire::Kind::eager, 0, 10);
  EXPECT_EQ(named.callbacks, 0);
  packet(wire::Kind::eager, 0, 10);  // behind
  packet(wire::Kind::eager, 0, 10);
  EXPECT_EQ(errors(testing::internal::GetCapturedStderr()), 1);
  EXPECT_EQ(named.callbacks, 1);
  EXPECT_EQ(named.info.status, STRIA_ERR_IO);
  EXPECT_EQ(counters().unexpected_messages, 1u) << "what was good stays";
}

TEST_F(HostilePeer, that_sends_an_early_number_twice_is_given_up) {
  Op named;
  post(named);
  testing::internal::CaptureStderr();
  packet(wire::Kind::eager, 5, 10);
  EXPECT_EQ(named.callbacks, 0);
  packet(wire::Kind::eager, 5, 10);
  EXPECT_EQ(errors(testing::internal::GetCapturedStderr()), 1);
  EXPECT_EQ(named.callbacks, 1);
}

TEST_F(HostilePeer, that_sends_packets_without_a_meaning_does_not_fill_the_log) {
  testing::internal::CaptureStderr();
  for (unsigned i = 0; i < 1000; ++i) packet(static_cast<wire::Kind>(200), 0, 10);
  const std::string unknown = testing::internal::GetCapturedStderr();
  EXPECT_EQ(errors(unknown), 11) << unknown;
  EXPECT_NE(unknown.find("worker 0xbad sent a packet of unknown kind (kind 200, 10 bytes)"),
            std::string::npos)
      << unknown;
  EXPECT_NE(unknown.find("512 of its packets"), std::string::npos) << unknown;
  // Other nonsense counts on.
  testing::internal::CaptureStderr();
  for (unsigned i = 0; i < 400; ++i) {
    packet(wire::Kind::rtr, 0, 10);
    packet(wire::Kind::rma_get, 0, 10);
    packet(wire::Kind::rma_put, 0, 10);
  }
  const std::string malformed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(errors(malformed), 2) << malformed;
  packet(wire::Kind::eager, 0, 10);
  EXPECT_EQ(counters().unexpected_messages, 1u) << "what it says right is still heard";
}

TEST_F(HostilePeer, cannot_end_a_key_by_its_only_link) {
  testing::internal::CaptureStderr();
  packet(wire::Kind::end_key, 0, 0);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("worker 0xbad sent the end of a key that it was not given (kind 15, 0 bytes)"),
            std::string::npos)
      << log;
}

TEST_F(HostilePeer, that_sends_a_synchronous_message_without_a_name_is_given_up) {
  Op named;
  post(named);
  stria_header_t header = wire::make_header(wire::Kind::sync, 7);
  header.flags = 1;
  packet(header, contract::Bytes(8));
  EXPECT_EQ(counters().unexpected_messages, 1u);
  EXPECT_EQ(named.callbacks, 0);
  testing::internal::CaptureStderr();
  packet(wire::Kind::sync, 1, 8);
  EXPECT_EQ(errors(testing::internal::GetCapturedStderr()), 1);
  EXPECT_EQ(named.callbacks, 1);
  EXPECT_EQ(named.info.status, STRIA_ERR_IO);
  EXPECT_EQ(counters().unexpected_messages, 1u) << "what was good stays";
}

/// A peer whose payloads, every other one, may stay where they arrive.
class HostileKept : public HostilePeer {
 protected:
  static fake::FabricOptions keeping() {
    fake::FabricOptions options = quick();
    options.keeps = true;
    return options;
  }
  HostileKept() : HostilePeer(keeping()) {}

 public:
  stria_status_t receive(stria_request_t& request, std::uint64_t tag, stria_callback_t callback) {
    stria_recv_t recv{};
    recv.base = room_;
    recv.count = sizeof room_;
    recv.match = {endpoint_, tag, 0};
    recv.callback = callback;
    recv.user = this;
    return stria_recv(world_.worker(0), &recv, &request);
  }
  stria_request_t first_, second_;
  stria_status_t answer_ = STRIA_ERR_INVALID;

 private:
  char room_[100];
};

// What follows such a payload at once, because it came early, may receive it in a callback: before the
// provider has heard that it stays.
TEST_F(HostileKept, a_payload_is_not_released_before_its_delivery_is_over) {
  ASSERT_EQ(receive(first_, 8,
                    [](stria_request_t*, const stria_info_t*, void* self) {
                      auto& test = *static_cast<HostileKept*>(self);
                      test.answer_ = test.receive(test.second_, 7, nullptr);
                    }),
            STRIA_IN_PROGRESS);
  stria_header_t early = wire::make_header(wire::Kind::eager, 8);
  early.sequence = 1;
  packet(early, contract::Bytes(50));
  EXPECT_EQ(answer_, STRIA_ERR_INVALID);
  packet(wire::Kind::eager, 0, 60);  // with tag 7
  EXPECT_EQ(answer_, STRIA_OK);
  // Alone it stays.
  packet(wire::Kind::eager, 2, 50);
  packet(wire::Kind::eager, 3, 60);
  EXPECT_EQ(fake::statistics(world_.fabric()).kept, 1u);
  for (const std::uint64_t bytes : {50u, 60u}) {
    ASSERT_EQ(receive(first_, 7, nullptr), STRIA_OK);
    stria_info_t info{};
    ASSERT_EQ(stria_request_test(&first_, &info), STRIA_OK);
    EXPECT_EQ(info.length, bytes);
  }
  EXPECT_EQ(fake::statistics(world_.fabric()).kept, 0u);
}

TEST_F(HostilePeer, cannot_end_the_synchronous_sends_to_others) {
  Op kept;
  char byte = 'x';
  ASSERT_EQ(world_.send(kept, 0, 1, 1, &byte, 1, 0, STRIA_SEND_SYNCHRONOUS), STRIA_IN_PROGRESS);
  for (int i = 0; i < 100; ++i) world_.step();
  for (std::uint64_t name = 0; name < 2000; ++name) packet(wire::make_header(wire::Kind::fin, name), {});
  EXPECT_FALSE(kept.ended());
  char room = 0;
  Op recv;
  world_.recv(recv, 1, 0, 1, 0, &room, 1);
  ASSERT_TRUE(world_.run_until([&] { return kept.ended() && recv.ended(); }));
  EXPECT_EQ(kept.info.status, STRIA_OK);
  EXPECT_EQ(room, byte);
}

TEST_F(HostilePeer, may_let_many_messages_come_early) {
  for (std::uint16_t i = 1; i < 3000; ++i) packet(wire::Kind::eager, i, 10);
  EXPECT_EQ(counters().unexpected_messages, 0u);
  packet(wire::Kind::eager, 0, 10);
  EXPECT_EQ(counters().unexpected_messages, 3000u);
}

}  // namespace
}  // namespace stria::test
