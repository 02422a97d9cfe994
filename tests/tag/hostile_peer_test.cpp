// A worker against a peer that breaks the protocol: its packets come over a real link, but from the test.
// Such a peer is given up: one line of the log, its requests end, and no more of its bytes are kept. Packets
// that mean nothing are dropped, and do not fill the log.
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "tag/address.hpp"
#include "tag/objects.hpp"
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
  explicit HostilePeer(const fake::FabricOptions& options = quick()) : world_(2, options) {
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

/// Its atomics are the engine's.
class HostileAtomics : public HostilePeer {
 protected:
  static fake::FabricOptions without_atomics() {
    auto out = quick();
    out.atomics = false;
    return out;
  }
  explicit HostileAtomics(const fake::FabricOptions& options = without_atomics()) : HostilePeer(options) {}
  /// Registers `bytes` from words_[1] on; the region's name.
  std::uint64_t share(std::uint64_t bytes, unsigned access) {
    EXPECT_EQ(stria_region_register(world_.worker(0), words_ + 1, nullptr, bytes, access, &region_),
              STRIA_OK);
    char packed[STRIA_KEY_MAX];
    size_t size = sizeof(packed);
    tag::KeyHead head;
    EXPECT_EQ(stria_region_key(region_, packed, &size), STRIA_OK);
    std::memcpy(&head, packed, sizeof head);
    return head.region;
  }
  ~HostileAtomics() override {
    if (region_ != nullptr) {
      EXPECT_EQ(stria_region_deregister(region_), STRIA_OK);
    }
  }
  alignas(16) std::uint64_t words_[10] = {};
  stria_region_t* region_ = nullptr;
};
class HostileAtomicsOfAdapter : public HostileAtomics {
 protected:
  HostileAtomicsOfAdapter() : HostileAtomics(quick()) {}
};
constexpr unsigned kAtomic = STRIA_ACCESS_REMOTE_ATOMIC;

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

/// Announces messages, and answers their receiver with fragments of its own making.
class HostileFragments : public HostilePeer {
 protected:
  static constexpr std::uint64_t kLength = 40000, kOp = 77;

  /// Announces one that the worker receives; what the worker asks for.
  wire::RtrBody announce(Op& op) {
    stria_recv_t recv{};
    recv.base = memory_;
    recv.count = kLength;
    recv.match = {endpoint_, 7, 0};
    recv.callback = &Op::on_done;
    recv.user = &op;
    op.answer = stria_recv(world_.worker(0), &recv, &op.request);
    EXPECT_EQ(op.answer, STRIA_IN_PROGRESS);
    const wire::RtsBody rts{kLength, kOp, 0, 0, 0, 0, 0};
    contract::Bytes body(sizeof rts);
    std::memcpy(body.data(), &rts, sizeof rts);
    stria_header_t header = wire::make_header(wire::Kind::rts, 7);
    header.sequence = sequence_++;
    raw_->received.clear();
    packet(header, body);
    wire::RtrBody rtr{};
    const contract::Received* asked = await(wire::Kind::rtr);
    if (asked != nullptr)
      std::memcpy(&rtr, asked->payload.data(), std::min(asked->payload.size(), sizeof rtr));
    return rtr;
  }
  /// A packet of this kind that the worker sent; null: none came.
  const contract::Received* await(wire::Kind kind) {
    for (int i = 0; i < 1000; ++i) {
      for (const contract::Received& one : raw_->received)
        if (one.header.kind == static_cast<std::uint8_t>(kind)) return &one;
      progress();
    }
    ADD_FAILURE() << "no packet of kind " << static_cast<int>(kind);
    return nullptr;
  }
  void fragment(std::uint64_t op, std::uint64_t place, std::uint64_t bytes) {
    packet(wire::make_fragment(op, place), contract::Bytes(bytes, std::byte{0x5a}));
  }

  std::byte memory_[kLength] = {};
  std::uint16_t sequence_ = 0;
};

TEST_F(HostileFragments, that_do_not_fit_end_their_message_and_nothing_else) {
  const std::array<std::uint64_t, 2> kBad[] = {
      {0, 10000}, {9999, 2}, {kLength, 1}, {kLength - 1, 2}, {wire::kPutting, 1}, {20000, 0}, {10000, 12000}};
  testing::internal::CaptureStderr();
  for (const auto& [place, bytes] : kBad) {
    SCOPED_TRACE(testing::Message() << bytes << " bytes at " << place);
    Op op;
    const wire::RtrBody asked = announce(op);
    EXPECT_EQ(asked.length, kLength);
    fragment(asked.receiver_op, 0, 10000);
    fragment(asked.receiver_op, 20000, 10000);
    ASSERT_EQ(op.callbacks, 0);
    raw_->received.clear();
    fragment(asked.receiver_op, place, bytes);
    EXPECT_EQ(op.callbacks, 1);
    EXPECT_EQ(op.info.status, STRIA_ERR_IO);
    const contract::Received* fin = await(wire::Kind::fin);
    ASSERT_NE(fin, nullptr) << "its sender hears of it";
    EXPECT_EQ(fin->header.tag, kOp);
    EXPECT_EQ(static_cast<std::int32_t>(fin->header.immediate), STRIA_ERR_IO);
    fragment(asked.receiver_op, 10000, 10000);  // late
    EXPECT_EQ(op.callbacks, 1);
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("does not fit its receive"), std::string::npos);
  Op op;
  const wire::RtrBody asked = announce(op);
  for (const std::uint64_t place : {30000u, 0u, 20000u, 10000u}) fragment(asked.receiver_op, place, 10000);
  EXPECT_EQ(op.callbacks, 1);
  EXPECT_EQ(op.info.status, STRIA_OK) << "what it says right is still heard";
  for (const std::byte byte : memory_) ASSERT_EQ(byte, std::byte{0x5a});
}

TEST_F(HostileFragments, of_random_places_never_complete_a_receive_with_a_hole) {
  const unsigned seed = 4711;
  std::mt19937 random(seed);
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  testing::internal::CaptureStderr();
  int completed = 0;
  for (int round = 0; round < 2000; ++round) {
    std::fill(std::begin(memory_), std::end(memory_), std::byte{0});
    Op op;
    const wire::RtrBody asked = announce(op);
    // A good order, in which one of four messages has a fault.
    std::vector<std::uint64_t> places = {0, 8000, 16000, 24000, 32000};
    std::shuffle(places.begin(), places.end(), random);
    if (random() % 4 == 0)
      places[random() % 5] = 8000 * (random() % 6) - (random() % 2 != 0 ? 0 : random() % 9);
    for (const std::uint64_t place : places) fragment(asked.receiver_op, place, 8000);
    if (op.callbacks == 0) {
      fragment(asked.receiver_op, kLength, 1);
      EXPECT_NE(op.info.status, STRIA_OK);
    }
    ASSERT_EQ(op.callbacks, 1);
    if (op.info.status != STRIA_OK) continue;
    ++completed;
    for (const std::byte byte : memory_) ASSERT_EQ(byte, std::byte{0x5a});
  }
  testing::internal::GetCapturedStderr();
  EXPECT_GT(completed, 1000);
  EXPECT_LT(completed, 2000);
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

TEST_F(HostileAtomics, are_looked_at_before_they_are_performed) {
  const std::uint64_t region = share(64, kAtomic);
  std::uint64_t before = 9;
  EXPECT_EQ(ask(region, STRIA_ATOMIC_FETCH_ADD, 8, before), Status::ok);
  EXPECT_EQ(before, 0u);
  EXPECT_EQ(words_[2], 1u);
  words_[2] = 0;
  const std::uint64_t outside[] = {64, 72, 60, 1ull << 32, 1ull << 63, ~0ull, ~0ull - 7, ~0ull - 63};
  for (const std::uint64_t offset : outside)
    EXPECT_EQ(ask(region, STRIA_ATOMIC_FETCH_ADD, offset, before), Status::access_error) << offset;
  for (const std::uint64_t offset : {1, 4, 7, 12, 55})
    EXPECT_EQ(ask(region, STRIA_ATOMIC_FETCH_ADD, offset, before), Status::invalid) << offset;
  for (const std::uint32_t op : {0u, 3u, 255u, 257u, ~0u})
    EXPECT_EQ(ask(region, op, 8, before), Status::invalid) << op;
  for (const std::uint64_t name :
       {region + 1, region ^ (std::uint64_t{1} << 32), std::uint64_t{0}, ~std::uint64_t{0}})
    EXPECT_EQ(ask(name, STRIA_ATOMIC_FETCH_ADD, 8, before), Status::access_error) << name;
  EXPECT_EQ(stria_region_deregister(std::exchange(region_, nullptr)), STRIA_OK);
  EXPECT_EQ(ask(region, STRIA_ATOMIC_FETCH_ADD, 8, before), Status::access_error) << "it is gone";
  for (const std::uint64_t word : words_) EXPECT_EQ(word, 0u);
}

TEST_F(HostileAtomics, need_the_right_and_a_whole_word) {
  std::uint64_t before = 0;
  std::uint64_t region = share(64, STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE);
  EXPECT_EQ(ask(region, STRIA_ATOMIC_FETCH_ADD, 8, before), Status::access_error);
  EXPECT_EQ(stria_region_deregister(std::exchange(region_, nullptr)), STRIA_OK);
  for (const std::uint64_t bytes : {0, 7}) {
    region = share(bytes, kAtomic);
    EXPECT_EQ(ask(region, STRIA_ATOMIC_FETCH_ADD, 0, before), Status::access_error) << bytes;
    EXPECT_EQ(stria_region_deregister(std::exchange(region_, nullptr)), STRIA_OK);
  }
  for (const std::uint64_t word : words_) EXPECT_EQ(word, 0u);
}

TEST_F(HostileAtomicsOfAdapter, are_not_performed_beside_it) {
  const std::uint64_t region = share(64, kAtomic);
  std::uint64_t before = 0;
  EXPECT_EQ(ask(region, STRIA_ATOMIC_FETCH_ADD, 8, before), Status::unsupported);
  EXPECT_EQ(words_[2], 0u);
}

TEST_F(HostileAtomics, of_random_fields_touch_nothing_but_the_region) {
  const std::uint64_t region = share(64, kAtomic);
  std::mt19937_64 random(2026);
  words_[0] = words_[9] = 0x1234;
  const auto field = [&](std::uint64_t good) {
    switch (random() % 4) {
      case 0:
        return random();
      case 1:
        return good ^ (std::uint64_t{1} << (random() % 64));
      case 2:
        return ~std::uint64_t{0} - random() % 80;
      default:
        return good;
    }
  };
  testing::internal::CaptureStderr();
  for (int i = 0; i < 20000; ++i) {
    const wire::AtomicBody body{field(8 * (random() % 10)), random(), random(), random()};
    contract::Bytes payload(random() % 8 == 0 ? 1 + random() % 64 : sizeof body);
    std::memcpy(payload.data(), &body, std::min(payload.size(), sizeof body));
    const auto kind = random() % 4 == 0 ? wire::Kind::word : wire::Kind::atomic;
    packet(wire::make_header(kind, field(region), static_cast<std::uint32_t>(field(1 + random() % 2))),
           payload);
  }
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(words_[0], 0x1234u);
  EXPECT_EQ(words_[9], 0x1234u);
  EXPECT_TRUE(std::any_of(words_ + 1, words_ + 9, [](std::uint64_t word) { return word != 0; }))
      << "none of them was good";
  std::uint64_t before = 0;
  EXPECT_EQ(ask(region, STRIA_ATOMIC_FETCH_ADD, 8, before), Status::ok);
  EXPECT_EQ(before + 1, words_[2]);
}

// An answer to somebody else's atomic, or a broken one, ends nothing.
TEST_F(HostileAtomics, that_were_answered_by_a_stranger_go_on) {
  alignas(8) std::uint64_t word = 0;
  stria_region_t* region = nullptr;
  ASSERT_EQ(stria_region_register(world_.worker(1), &word, nullptr, 8, kAtomic, &region), STRIA_OK);
  char packed[STRIA_KEY_MAX];
  size_t size = sizeof(packed);
  ASSERT_EQ(stria_region_key(region, packed, &size), STRIA_OK);
  stria_key_t* key = nullptr;
  ASSERT_EQ(stria_key_open(world_.endpoint(0, 1), packed, size, &key), STRIA_OK);
  Op op;
  std::uint64_t before = 7;
  const stria_atomic_t args{sizeof args, STRIA_ATOMIC_FETCH_ADD, key, 0, 1, 0, &before, &Op::on_done, &op};
  ASSERT_EQ(stria_atomic(world_.endpoint(0, 1), &args, &op.request), STRIA_IN_PROGRESS);
  testing::internal::CaptureStderr();
  for (std::uint32_t generation = 0; generation < 4; ++generation)
    for (std::uint32_t slot = 0; slot < 70; ++slot)
      for (const std::uint32_t status : {0u, 5u, static_cast<std::uint32_t>(-7), 0x80000000u})
        packet(wire::make_header(wire::Kind::word, std::uint64_t{generation} << 32 | slot, status),
               contract::Bytes(status == 0 ? 8 : 0));
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(op.callbacks, 0);
  EXPECT_EQ(before, 7u);
  EXPECT_TRUE(world_.run_until([&] { return op.callbacks == 1; }));
  EXPECT_EQ(op.info.status, STRIA_OK);
  EXPECT_EQ(before, 0u);
  stria_key_close(key);
  EXPECT_EQ(stria_region_deregister(region), STRIA_OK);
}

}  // namespace
}  // namespace stria::test
