// A provider that breaks its contract where it is cheap to see: refused with a text that says so. And what a
// provider may do all the same: bring back a peer that was given up, by another way.
#include <cstring>

#include "tag/objects.hpp"
#include "tests/tag/world.hpp"
#include "transport/fake/fake.hpp"
#include "transport/wire.hpp"

namespace stria::test {
namespace {

class BrokenProvider : public testing::Test {
 protected:
  BrokenProvider() : use_(fake::make_fabric({})), table_(fake::fake_provider()) {
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", "fake", "test"), STRIA_OK);
  }
  void open_context() {
    const stria_provider_t* builtins[] = {&table_};
    auto opened = tag::open_context(nullptr, builtins);
    ASSERT_TRUE(opened.has_value()) << opened.error().context;
    context_ = reinterpret_cast<stria_context_t*>(opened->release());
  }
  /// Of worker 1, at worker 0.
  void open_endpoint(stria_endpoint_t** endpoint) {
    char address[STRIA_ADDRESS_MAX];
    size_t bytes = sizeof(address);
    ASSERT_EQ(stria_worker_address(workers_[1], address, &bytes), STRIA_OK);
    stria_endpoint_params_t params{};
    params.size = sizeof(params);
    params.address = address;
    params.address_bytes = bytes;
    ASSERT_EQ(stria_endpoint_open(workers_[0], &params, endpoint), STRIA_OK);
  }
  ~BrokenProvider() override {
    for (auto* worker : workers_) stria_worker_close(worker);
    stria_context_close(context_);
  }
  fake::UseFabric use_;
  stria_provider_t table_;
  stria_context_t* context_ = nullptr;
  stria_worker_t* workers_[2] = {};
};

TEST_F(BrokenProvider, that_gives_no_link_is_refused) {
  table_.connect = [](stria_device_t*, const void*, std::uint32_t, void*, int, stria_link_t** link, char*,
                      std::uint32_t) {
    *link = nullptr;
    return STRIA_OK;
  };
  open_context();
  for (auto*& worker : workers_) ASSERT_EQ(stria_worker_open(context_, nullptr, &worker), STRIA_OK);
  stria_endpoint_t* endpoint = nullptr;
  ASSERT_NO_FATAL_FAILURE(open_endpoint(&endpoint));
  EXPECT_EQ(stria_endpoint_connect(endpoint), STRIA_ERR_IO);
  EXPECT_NE(std::strstr(stria_last_error(), "gave no link"), nullptr) << stria_last_error();
  stria_request_t request;
  stria_send_t send{};
  EXPECT_EQ(stria_send(endpoint, &send, &request), STRIA_ERR_IO);
}

TEST_F(BrokenProvider, that_gives_no_device_is_refused) {
  table_.open = [](const stria_device_params_t*, stria_device_t**, char*, std::uint32_t) { return STRIA_OK; };
  open_context();
  EXPECT_EQ(stria_worker_open(context_, nullptr, &workers_[0]), STRIA_ERR_IO);
  EXPECT_NE(std::strstr(stria_last_error(), "gave no device"), nullptr) << stria_last_error();
}

/// What passes between worker 0 and its provider. Functions of a table have no state.
struct Seen {
  const stria_sink_t* sink = nullptr;
  std::uint64_t worker_ids[2] = {};
  unsigned opened = 0;
  stria_link_t* link = nullptr;
  void* cookie = nullptr;
  unsigned farewells = 0;
} seen;

class GivenUp : public BrokenProvider {
 protected:
  void SetUp() override {
    seen = {};
    table_.open = [](const stria_device_params_t* params, stria_device_t** device, char* error,
                     std::uint32_t bytes) {
      if (seen.opened == 0) seen.sink = params->sink;
      seen.worker_ids[seen.opened++] = params->worker_id;
      return fake::fake_provider().open(params, device, error, bytes);
    };
    table_.connect = [](stria_device_t* device, const void* address, std::uint32_t address_bytes,
                        void* cookie, int wish, stria_link_t** link, char* error, std::uint32_t bytes) {
      seen.cookie = cookie;
      const stria_status_t status =
          fake::fake_provider().connect(device, address, address_bytes, cookie, wish, link, error, bytes);
      seen.link = *link;
      return status;
    };
    static stria_group_pio_t pio;
    pio = *fake::fake_provider().pio;
    pio.pio_send = [](stria_link_t* link, const stria_header_t* header, const void* payload,
                      std::uint32_t bytes) {
      if (header->kind == static_cast<std::uint8_t>(wire::Kind::gone)) ++seen.farewells;
      return fake::fake_provider().pio->pio_send(link, header, payload, bytes);
    };
    table_.pio = &pio;
    open_context();
    for (auto*& worker : workers_) ASSERT_EQ(stria_worker_open(context_, nullptr, &worker), STRIA_OK);
    ASSERT_NO_FATAL_FAILURE(open_endpoint(&endpoint_));
    ASSERT_EQ(stria_endpoint_connect(endpoint_), STRIA_OK);
    ASSERT_NE(seen.link, nullptr);
  }
  stria_status_t send() { return stria_send(endpoint_, &send_, &request_); }
  void go_down() {
    seen.sink->link_down(seen.sink->self, seen.cookie, STRIA_ERR_PEER_FAILED);
    EXPECT_EQ(send(), STRIA_ERR_PEER_FAILED);
  }
  void* come_up() { return seen.sink->peer_up(seen.sink->self, seen.worker_ids[1], seen.link); }
  /// The peer's first message.
  void deliver(void* cookie) {
    stria_header_t header{};
    header.kind = static_cast<std::uint8_t>(wire::Kind::eager);
    const stria_packet_t packet{&header, "x", 1, 0, 0};
    seen.sink->deliver(seen.sink->self, cookie, &packet);
  }
  std::uint64_t unexpected() {
    stria_counters_t counters{};
    counters.size = sizeof(counters);
    EXPECT_EQ(stria_worker_counters(workers_[0], &counters), STRIA_OK);
    return counters.unexpected_messages;
  }
  stria_endpoint_t* endpoint_ = nullptr;
  stria_request_t request_;
  stria_send_t send_{};
};

TEST_F(GivenUp, a_peer_comes_back_when_nothing_was_sent) {
  go_down();
  EXPECT_EQ(come_up(), seen.cookie);
  EXPECT_EQ(stria_endpoint_connect(endpoint_), STRIA_OK);
  EXPECT_EQ(send(), STRIA_OK);
  deliver(seen.cookie);
  EXPECT_EQ(unexpected(), 1u) << "it has its first credit again";
}

// What was sent to it before is lost, and its sequence numbers go on where they were: a message of the new
// link would wait for ever for those before.
TEST_F(GivenUp, a_peer_does_not_come_back_after_a_message) {
  ASSERT_EQ(send(), STRIA_OK);
  go_down();
  void* const again = come_up();
  EXPECT_EQ(send(), STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(stria_endpoint_connect(endpoint_), STRIA_ERR_PEER_FAILED);
  deliver(again);
  EXPECT_EQ(unexpected(), 0u);
  EXPECT_EQ(seen.farewells, 0u) << "the provider is in the middle of making the link";
  stria_worker_progress(workers_[0]);
  EXPECT_EQ(seen.farewells, 1u) << "else the peer would wait for answers";
}

}  // namespace
}  // namespace stria::test
