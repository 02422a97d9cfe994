// A worker against a peer that breaks the protocol: its packets come over a real link, but from the test.
// Such a peer is given up: one line of the log, its requests end, and no more of its bytes are kept. Packets
// that mean nothing are dropped, and do not fill the log.
#include <algorithm>

#include "tag/address.hpp"
#include "tests/contract/peer.hpp"
#include "tests/tag/world.hpp"
#include "transport/fake/fake.hpp"
#include "transport/wire.hpp"

namespace stria::test {
namespace {

class HostilePeer : public testing::Test {
 protected:
  static fake::FabricOptions quick() {
    fake::FabricOptions options;
    options.delay = 0;
    options.queue = 64;
    return options;
  }
  HostilePeer() : world_(2, quick()) {
    fake::UseFabric use(world_.shared_fabric());
    raw_ = std::make_unique<contract::Peer>(fake::fake_provider(), 0xbad);
    char bytes[STRIA_ADDRESS_MAX];
    size_t size = sizeof(bytes);
    EXPECT_EQ(stria_worker_address(world_.worker(0), bytes, &size), STRIA_OK);
    const auto parsed = tag::parse_address({reinterpret_cast<const std::byte*>(bytes), size});
    const auto part = parsed->part("fake");
    stria_status_t status = STRIA_OK;
    link_ = raw_->try_connect({part.begin(), part.end()}, contact_, status);
    EXPECT_NE(link_, nullptr) << raw_->error();
    // An endpoint to the raw peer, so that receives can name it.
    const contract::Bytes part_of_raw = raw_->address();
    const tag::AddressPart parts[] = {{"fake", part_of_raw}};
    const auto address = tag::make_address(0xbad, parts);
    stria_endpoint_params_t params{};
    params.size = sizeof(params);
    params.address = address.data();
    params.address_bytes = address.size();
    EXPECT_EQ(stria_endpoint_open(world_.worker(0), &params, &endpoint_), STRIA_OK);
  }
  void progress() {
    raw_->progress();
    stria_worker_progress(world_.worker(0));
  }
  /// Sends one packet and has it delivered.
  void packet(wire::Kind kind, std::uint16_t sequence, std::size_t bytes) {
    stria_header_t header = wire::make_header(kind, 7);
    header.sequence = sequence;
    const contract::Bytes payload(bytes);
    Status sent = Status::no_resource;
    for (int i = 0; i < 1000 && sent == Status::no_resource; ++i) {
      sent = raw_->try_send(link_, contract::Path::buffered, header, payload.data(), payload.size());
      progress();
    }
    ASSERT_EQ(sent, Status::ok);
  }
  stria_counters_t counters() {
    stria_counters_t out{};
    out.size = sizeof(out);
    EXPECT_EQ(stria_worker_counters(world_.worker(0), &out), STRIA_OK);
    return out;
  }
  /// A receive that names the raw peer and a tag it never sends.
  void post(Op& op) {
    stria_recv_t recv{};
    recv.base = room_;
    recv.count = sizeof(room_);
    recv.match = {endpoint_, 99, 0};
    recv.callback = &Op::on_done;
    recv.user = &op;
    op.answer = stria_recv(world_.worker(0), &recv, &op.request);
    ASSERT_EQ(op.answer, STRIA_IN_PROGRESS);
  }
  static long errors(const std::string& log) {
    long lines = 0;
    for (std::size_t at = log.find("error:"); at != std::string::npos; at = log.find("error:", at + 1))
      ++lines;
    return lines;
  }

  World world_;
  std::unique_ptr<contract::Peer> raw_;
  contract::Contact contact_;
  stria_link_t* link_ = nullptr;
  stria_endpoint_t* endpoint_ = nullptr;
  char room_[8];
};

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

TEST_F(HostilePeer, may_let_many_messages_come_early) {
  for (std::uint16_t i = 1; i < 3000; ++i) packet(wire::Kind::eager, i, 10);
  EXPECT_EQ(counters().unexpected_messages, 0u);
  packet(wire::Kind::eager, 0, 10);
  EXPECT_EQ(counters().unexpected_messages, 3000u);
}

}  // namespace
}  // namespace stria::test
