// A peer of a worker that breaks the protocol as a test tells it to: its packets come over a real link.
#pragma once

#include <cstring>
#include <memory>
#include <string>

#include "tag/address.hpp"
#include "tests/contract/peer.hpp"
#include "tests/tag/world.hpp"
#include "transport/fake/fake.hpp"
#include "transport/wire.hpp"

namespace stria::test {

class HostilePeer : public testing::Test {
 protected:
  static fake::FabricOptions quick() {
    fake::FabricOptions options;
    options.delay = 0;
    options.queue = 64;
    return options;
  }
  explicit HostilePeer(const fake::FabricOptions& options = quick()) : world_(2, options) {
    fake::UseFabric use(world_.shared_fabric());
    raw_ = std::make_unique<contract::Peer>(fake::fake_provider(), 0xbad);
    char bytes[STRIA_ADDRESS_MAX];
    size_t size = sizeof(bytes);
    EXPECT_EQ(stria_worker_address(world_.worker(0), bytes, &size), STRIA_OK);
    const auto parsed = tag::parse_address({reinterpret_cast<const std::byte*>(bytes), size});
    const auto part = parsed->part("fake", 0);
    stria_status_t status = STRIA_OK;
    link_ = raw_->try_connect({part.begin(), part.end()}, contact_, status);
    EXPECT_NE(link_, nullptr) << raw_->error();
    // An endpoint to the raw peer, so that receives can name it.
    const contract::Bytes part_of_raw = raw_->address();
    const tag::AddressPart parts[] = {{"fake", 0, part_of_raw}};
    const auto address = tag::make_address(0xbad, parts, "");
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
    packet(header, contract::Bytes(bytes));
  }
  void packet(const stria_header_t& header, const contract::Bytes& payload) {
    Status sent = Status::no_resource;
    for (int i = 0; i < 1000 && sent == Status::no_resource; ++i) {
      sent = raw_->try_send(link_, contract::Path::buffered, header, payload.data(), payload.size());
      progress();
    }
    ASSERT_EQ(sent, Status::ok);
  }
  /// Sends a request for an atomic and waits for its answer.
  Status ask(std::uint64_t region, std::uint32_t op, std::uint64_t offset, std::uint64_t& before) {
    const wire::AtomicBody body{offset, 1, 0, ++asked_};
    contract::Bytes payload(sizeof body);
    std::memcpy(payload.data(), &body, sizeof body);
    for (int i = 0; i < 100; ++i) progress();
    raw_->received.clear();
    packet(wire::make_header(wire::Kind::atomic, region, op), payload);
    for (int i = 0; i < 1000 && raw_->received.empty(); ++i) progress();
    if (raw_->received.size() != 1) return Status::in_progress;
    const contract::Received& answer = raw_->received.front();
    EXPECT_EQ(answer.header.kind, static_cast<std::uint8_t>(wire::Kind::word));
    EXPECT_EQ(answer.header.tag, asked_);
    const auto status = static_cast<Status>(static_cast<std::int32_t>(answer.header.immediate));
    EXPECT_EQ(answer.payload.size(), status == Status::ok ? 8u : 0u);
    if (status == Status::ok) std::memcpy(&before, answer.payload.data(), sizeof before);
    return status;
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
  std::uint64_t asked_ = 0;
};

}  // namespace stria::test
