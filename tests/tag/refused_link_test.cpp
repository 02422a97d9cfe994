// A provider that says yes, asks its network, and then cannot reach the peer: as good as one that says no.
#include "tag/objects.hpp"
#include "tests/tag/world.hpp"
#include "transport/fake/fake.hpp"

namespace stria::test {
namespace {

/// A provider whose links never come up: they wait until the test has them refused. It has the core alone.
struct Hesitant {
  const stria_sink_t* sink = nullptr;
  void* cookie = nullptr;
  unsigned connects = 0;
  bool refuses = false;
} hesitant;

stria_provider_t hesitant_provider() {
  stria_provider_t table{};
  table.size = sizeof table;
  table.version = STRIA_PROVIDER_VERSION;
  table.name = "hesitant";
  table.description = "its links never come up";
  table.open = [](const stria_device_params_t* params, stria_device_t** device, char*, std::uint32_t) {
    if (hesitant.sink == nullptr) hesitant.sink = params->sink;
    *device = reinterpret_cast<stria_device_t*>(const_cast<stria_sink_t*>(params->sink));
    return STRIA_OK;
  };
  table.close = [](stria_device_t*, int) {};
  table.capabilities = [](stria_device_t*, stria_capabilities_t* out) {
    *out = {};
    out->eager_max = 4096;
  };
  table.address = [](stria_device_t*, void* out, std::uint32_t room) -> std::uint32_t {
    if (room > 0) *static_cast<char*>(out) = 'h';
    return 1;
  };
  table.connect = [](stria_device_t*, const void*, std::uint32_t, void* peer, int, stria_link_t** link, char*,
                     std::uint32_t) {
    ++hesitant.connects;
    hesitant.cookie = peer;
    *link = reinterpret_cast<stria_link_t*>(&hesitant);
    return STRIA_IN_PROGRESS;
  };
  table.link_limits = [](stria_link_t*, stria_link_limits_t* out) {
    *out = {};
    out->eager_max = 4096;
    out->path = "hesitant";
    out->fallback = "";
  };
  table.eager_send = [](stria_link_t*, const stria_header_t*, const stria_payload_t*) {
    return STRIA_ERR_NO_RESOURCE;
  };
  table.progress = [](stria_device_t* device, unsigned) {
    if (!hesitant.refuses || reinterpret_cast<stria_sink_t*>(device) != hesitant.sink) return 0u;
    hesitant.refuses = false;
    hesitant.sink->link_down(hesitant.sink->self, hesitant.cookie, STRIA_ERR_UNREACHABLE);
    return 1u;
  };
  table.check = [](stria_device_t*) {};
  table.event_fd = [](stria_device_t*) { return -1; };
  table.arm = [](stria_device_t*) { return STRIA_OK; };
  return table;
}

class RefusedLink : public testing::Test {
 protected:
  RefusedLink()
      : use_(fake::make_fabric(quick())), first_(hesitant_provider()), second_(fake::fake_provider()) {
    hesitant = {};
  }
  ~RefusedLink() override {
    for (stria_worker_t* worker : workers_) stria_worker_close(worker);
    stria_context_close(context_);
  }
  void open(const char* providers) {
    ASSERT_EQ(stria_config_set("STRIA_PROVIDERS", providers, "test"), STRIA_OK);
    const stria_provider_t* builtins[] = {&first_, &second_};
    auto opened = tag::open_context(nullptr, builtins);
    ASSERT_TRUE(opened.has_value()) << opened.error().context;
    context_ = reinterpret_cast<stria_context_t*>(opened->release());
    for (stria_worker_t*& worker : workers_)
      ASSERT_EQ(stria_worker_open(context_, nullptr, &worker), STRIA_OK);
    char address[STRIA_ADDRESS_MAX];
    std::size_t bytes = sizeof address;
    ASSERT_EQ(stria_worker_address(workers_[1], address, &bytes), STRIA_OK);
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = address;
    params.address_bytes = bytes;
    ASSERT_EQ(stria_endpoint_open(workers_[0], &params, &endpoint_), STRIA_OK);
  }
  stria_status_t send(const std::vector<char>& data, stria_request_t& request) {
    stria_send_t send{};
    send.base = data.data();
    send.count = data.size();
    send.tag = data.size();
    return stria_send(endpoint_, &send, &request);
  }
  stria_status_t receive(stria_worker_t* worker, std::vector<char>& data, stria_request_t& request,
                         stria_endpoint_t* from = nullptr) {
    stria_recv_t recv{};
    recv.base = data.data();
    recv.count = data.size();
    recv.match.tag = data.size();
    recv.match.source = from;
    return stria_recv(worker, &recv, &request);
  }
  void progress() {
    for (int i = 0; i < 1000; ++i)
      for (stria_worker_t* worker : workers_) stria_worker_progress(worker);
  }
  static stria_status_t state_of(stria_request_t& request) { return stria_request_test(&request, nullptr); }

  fake::UseFabric use_;
  stria_provider_t first_, second_;
  stria_context_t* context_ = nullptr;
  stria_worker_t* workers_[2] = {};
  stria_endpoint_t* endpoint_ = nullptr;
};

TEST_F(RefusedLink, leaves_what_waits_for_it_to_the_next_provider) {
  ASSERT_NO_FATAL_FAILURE(open("hesitant,fake"));
  const std::vector<char> small(100, 's'), large(1 << 20, 'l');
  std::vector<char> got_small(small.size()), got_large(large.size());
  stria_request_t sends[2], receives[2];
  ASSERT_EQ(send(small, sends[0]), STRIA_IN_PROGRESS);
  ASSERT_EQ(send(large, sends[1]), STRIA_IN_PROGRESS);
  ASSERT_EQ(receive(workers_[1], got_small, receives[0]), STRIA_IN_PROGRESS);
  ASSERT_EQ(receive(workers_[1], got_large, receives[1]), STRIA_IN_PROGRESS);
  progress();
  EXPECT_EQ(state_of(sends[0]), STRIA_IN_PROGRESS) << "the provider may still reach the peer";
  hesitant.refuses = true;
  progress();
  for (stria_request_t* request : {&sends[0], &sends[1], &receives[0], &receives[1]})
    EXPECT_EQ(state_of(*request), STRIA_OK);
  EXPECT_EQ(got_small, small);
  EXPECT_EQ(got_large, large);
  EXPECT_EQ(hesitant.connects, 1u);
}

TEST_F(RefusedLink, ends_sends_when_no_provider_is_left_and_is_tried_again_by_the_next) {
  ASSERT_NO_FATAL_FAILURE(open("hesitant"));
  const std::vector<char> data(100, 's');
  std::vector<char> got(50);
  stria_request_t request, again, waits;
  ASSERT_EQ(send(data, request), STRIA_IN_PROGRESS);
  ASSERT_EQ(receive(workers_[0], got, waits, endpoint_), STRIA_IN_PROGRESS);
  hesitant.refuses = true;
  progress();
  EXPECT_EQ(state_of(request), STRIA_ERR_UNREACHABLE);
  EXPECT_EQ(state_of(waits), STRIA_IN_PROGRESS) << "the peer may come by itself";
  EXPECT_EQ(send(data, again), STRIA_IN_PROGRESS);
  EXPECT_GE(hesitant.connects, 2u);
  hesitant.refuses = true;
  progress();
  EXPECT_EQ(state_of(again), STRIA_ERR_UNREACHABLE);
  EXPECT_EQ(stria_request_cancel(workers_[0], &waits), STRIA_OK);
}

}  // namespace
}  // namespace stria::test
