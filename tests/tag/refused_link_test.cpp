// A provider that says yes, asks its network, and then cannot reach the peer: as good as one that says no.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/format.hpp"
#include "base/system.hpp"
#include "tag/objects.hpp"
#include "tests/tag/world.hpp"
#include "transport/fake/fake.hpp"

namespace stria::test {
namespace {

using testing::HasSubstr;

/// A provider whose links never come up: they wait until the test has those of a worker refused. It has the
/// core, and can put. A device is the sink that it was opened with.
struct Hesitant {
  std::vector<const stria_sink_t*> sinks;        // by worker, in the order of opening
  std::map<const stria_sink_t*, void*> waiting;  // cookies of links
  unsigned connects = 0;
  const stria_sink_t* refuses = nullptr;
  stria_status_t answer = STRIA_IN_PROGRESS;  // of each connect; a refusal has the reason "the cable is out"
} hesitant;

stria_provider_t hesitant_provider() {
  stria_provider_t table{};
  table.size = sizeof table;
  table.version = STRIA_PROVIDER_VERSION;
  table.name = "hesitant";
  table.description = "its links never come up";
  table.open = [](const stria_device_params_t* params, stria_device_t** device, char*, std::uint32_t) {
    hesitant.sinks.push_back(params->sink);
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
  table.connect = [](stria_device_t* device, const void*, std::uint32_t, void* peer, int, stria_link_t** link,
                     char* error, std::uint32_t error_bytes) {
    std::snprintf(error, error_bytes, "the cable is out");
    if (hesitant.answer != STRIA_IN_PROGRESS) return hesitant.answer;
    if (hesitant.waiting.emplace(reinterpret_cast<stria_sink_t*>(device), peer).second) ++hesitant.connects;
    *link = reinterpret_cast<stria_link_t*>(&hesitant);
    return STRIA_IN_PROGRESS;
  };
  table.link_limits = [](stria_link_t*, stria_link_limits_t* out) {
    *out = {};
    out->eager_max = 4096;
    out->can_put = 1;
    out->path = "hesitant";
    out->fallback = "";
  };
  table.eager_send = [](stria_link_t*, const stria_header_t*, const stria_payload_t*) {
    return STRIA_ERR_NO_RESOURCE;
  };
  table.progress = [](stria_device_t* device, unsigned) {
    const auto* const sink = reinterpret_cast<stria_sink_t*>(device);
    if (hesitant.refuses != sink) return 0u;
    hesitant.refuses = nullptr;
    const auto link = hesitant.waiting.extract(sink);
    if (link.empty()) return 0u;
    sink->link_down(sink->self, link.mapped(), STRIA_ERR_UNREACHABLE);
    return 1u;
  };
  table.check = [](stria_device_t*) {};
  static const stria_group_keys_t keys = {
      .size = sizeof keys,
      .fast_register =
          [](stria_device_t*, stria_link_t*, const stria_payload_t*, unsigned, stria_provider_key_t* key) {
            *key = {1, {1}};
            return STRIA_OK;
          },
      .invalidate = [](stria_device_t*, const stria_provider_key_t*) { return STRIA_OK; },
      .send_invalidate = [](stria_link_t*, const stria_header_t*, const void*, std::uint32_t,
                            const stria_provider_key_t*) { return STRIA_ERR_NO_RESOURCE; }};
  static const stria_group_put_t put = {
      .size = sizeof put,
      .put = [](stria_link_t*, const stria_payload_t*, const stria_provider_key_t*, std::uint64_t,
                stria_completion_t*) { return STRIA_ERR_NO_RESOURCE; }};
  table.keys = &keys;
  table.put = &put;
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
    ASSERT_EQ(open_endpoint(0, 1, &endpoint_), STRIA_OK);
    ASSERT_EQ(open_endpoint(1, 0, &back_), STRIA_OK);
  }
  stria_status_t open_endpoint(int from, int to, stria_endpoint_t** endpoint) {
    char address[STRIA_ADDRESS_MAX];
    std::size_t bytes = sizeof address;
    EXPECT_EQ(stria_worker_address(workers_[to], address, &bytes), STRIA_OK);
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = address;
    params.address_bytes = bytes;
    return stria_endpoint_open(workers_[from], &params, endpoint);
  }
  /// The network's answer to what the worker asked it: no.
  void refuse(int worker) {
    hesitant.refuses = hesitant.sinks.at(static_cast<std::size_t>(worker));
    progress();
  }
  stria_status_t send(const std::vector<char>& data, stria_request_t& request) {
    return send(endpoint_, data, &request);
  }
  static stria_status_t send(stria_endpoint_t* to, const std::vector<char>& data, stria_request_t* request,
                             unsigned flags = 0) {
    stria_send_t send{};
    send.flags = flags;
    send.base = data.data();
    send.count = data.size();
    send.tag = data.size();
    return stria_send(to, &send, request);
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
  /// Sends a message, which the second worker receives; returns what was written to the log, with the network
  /// refusing the first provider if that asks it.
  std::string log_of_message(std::size_t bytes) {
    const std::vector<char> data(bytes, 's');
    std::vector<char> got(bytes);
    stria_request_t sent, received;
    testing::internal::CaptureStderr();
    EXPECT_GE(send(data, sent), STRIA_OK);
    EXPECT_GE(receive(workers_[1], got, received), STRIA_OK);
    refuse(0);
    EXPECT_EQ(state_of(received), STRIA_OK);
    EXPECT_EQ(got, data);
    return testing::internal::GetCapturedStderr();
  }
  static stria_status_t state_of(stria_request_t& request) { return stria_request_test(&request, nullptr); }

  fake::UseFabric use_;
  stria_provider_t first_, second_;
  stria_context_t* context_ = nullptr;
  stria_worker_t* workers_[2] = {};
  stria_endpoint_t *endpoint_ = nullptr, *back_ = nullptr;  // of the first worker, and of the second
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
  refuse(0);
  for (stria_request_t* request : {&sends[0], &sends[1], &receives[0], &receives[1]})
    EXPECT_EQ(state_of(*request), STRIA_OK);
  EXPECT_EQ(got_small, small);
  EXPECT_EQ(got_large, large);
  EXPECT_EQ(hesitant.connects, 1u);
}

TEST_F(RefusedLink, is_told_once_with_the_host_and_the_provider_that_is_taken) {
  ASSERT_NO_FATAL_FAILURE(open("hesitant,fake"));
  const std::string log = log_of_message(100);  // the level is the default one
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  EXPECT_THAT(log, HasSubstr("warning"));
  EXPECT_THAT(log, HasSubstr(fmt::format("worker {:#x} on host '{}': fake is taken",
                                         stria_worker_id(workers_[1]), host_name())));
  EXPECT_THAT(log, HasSubstr("hesitant: its network does not reach the peer"));
  EXPECT_EQ(log_of_message(200), "");
}

TEST_F(RefusedLink, at_once_is_told_once_with_the_reason) {
  ASSERT_NO_FATAL_FAILURE(open("hesitant,fake"));
  hesitant.answer = STRIA_ERR_UNREACHABLE;
  const std::string log = log_of_message(100);
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  EXPECT_THAT(log, HasSubstr(": fake is taken, because a better device failed (hesitant: the cable is out)"));
  EXPECT_EQ(log_of_message(200), "");
}

TEST_F(RefusedLink, by_a_provider_that_is_not_for_such_peers_is_not_told) {
  ASSERT_NO_FATAL_FAILURE(open("hesitant,fake"));
  hesitant.answer = STRIA_ERR_UNSUPPORTED;
  EXPECT_EQ(log_of_message(100), "");
}

TEST_F(RefusedLink, by_providers_that_are_not_for_such_peers_makes_the_peer_unreachable) {
  ASSERT_NO_FATAL_FAILURE(open("hesitant"));
  hesitant.answer = STRIA_ERR_UNSUPPORTED;
  EXPECT_EQ(stria_endpoint_connect(endpoint_), STRIA_ERR_UNREACHABLE);
  EXPECT_THAT(std::string(stria_last_error()), HasSubstr("the cable is out"));
}

TEST_F(RefusedLink, ends_sends_when_no_provider_is_left_and_is_tried_again_by_the_next) {
  ASSERT_NO_FATAL_FAILURE(open("hesitant"));
  const std::vector<char> data(100, 's');
  std::vector<char> got(50);
  stria_request_t request, again, waits;
  ASSERT_EQ(send(data, request), STRIA_IN_PROGRESS);
  ASSERT_EQ(receive(workers_[0], got, waits, endpoint_), STRIA_IN_PROGRESS);
  refuse(0);
  EXPECT_EQ(state_of(request), STRIA_ERR_UNREACHABLE);
  EXPECT_EQ(state_of(waits), STRIA_IN_PROGRESS) << "the peer may come by itself";
  EXPECT_EQ(send(data, again), STRIA_IN_PROGRESS);
  EXPECT_GE(hesitant.connects, 2u);
  refuse(0);
  EXPECT_EQ(state_of(again), STRIA_ERR_UNREACHABLE);
  EXPECT_EQ(stria_request_cancel(workers_[0], &waits), STRIA_OK);
}

TEST_F(RefusedLink, tells_once_who_asks_whether_the_peer_is_reached) {
  ASSERT_NO_FATAL_FAILURE(open("hesitant"));
  EXPECT_EQ(stria_endpoint_connect(endpoint_), STRIA_IN_PROGRESS);
  EXPECT_EQ(stria_endpoint_connect(endpoint_), STRIA_IN_PROGRESS);
  refuse(0);
  EXPECT_EQ(stria_endpoint_connect(endpoint_), STRIA_ERR_UNREACHABLE);
  EXPECT_NE(std::string(stria_last_error()), "");
  EXPECT_EQ(stria_endpoint_connect(endpoint_), STRIA_IN_PROGRESS) << "asked anew";
  EXPECT_EQ(hesitant.connects, 2u);
}

TEST_F(RefusedLink, ends_the_tries_of_who_wants_to_send_at_once_or_not_at_all) {
  ASSERT_NO_FATAL_FAILURE(open("hesitant"));
  const std::vector<char> data(100, 's');
  EXPECT_EQ(send(endpoint_, data, nullptr, STRIA_SEND_IMMEDIATE), STRIA_ERR_NO_RESOURCE);
  EXPECT_EQ(send(endpoint_, data, nullptr, STRIA_SEND_IMMEDIATE), STRIA_ERR_NO_RESOURCE);
  refuse(0);
  EXPECT_EQ(send(endpoint_, data, nullptr, STRIA_SEND_IMMEDIATE), STRIA_ERR_UNREACHABLE);
}

TEST_F(RefusedLink, is_given_up_for_the_one_by_which_the_peer_comes_first) {
  ASSERT_NO_FATAL_FAILURE(open("hesitant,fake"));
  const std::vector<char> there(100, 's'), back(1 << 20, 'l');
  std::vector<char> got_there(there.size()), got_back(back.size());
  stria_request_t sends[2], receives[2];
  ASSERT_EQ(send(endpoint_, there, &sends[0]), STRIA_IN_PROGRESS);
  ASSERT_EQ(send(back_, back, &sends[1]), STRIA_IN_PROGRESS);
  ASSERT_EQ(receive(workers_[1], got_there, receives[0]), STRIA_IN_PROGRESS);
  ASSERT_EQ(receive(workers_[0], got_back, receives[1]), STRIA_IN_PROGRESS);
  refuse(1);  // the second worker goes on by the other provider while the first one's still asks
  for (stria_request_t* request : {&sends[0], &sends[1], &receives[0], &receives[1]})
    EXPECT_EQ(state_of(*request), STRIA_OK);
  EXPECT_EQ(got_there, there);
  EXPECT_EQ(got_back, back);
  refuse(0);  // comes late, and concerns nobody any more
  ASSERT_GE(send(endpoint_, there, &sends[0]), STRIA_OK);
  got_there.assign(there.size(), '-');
  ASSERT_GE(receive(workers_[1], got_there, receives[0]), STRIA_OK);
  progress();
  EXPECT_EQ(state_of(receives[0]), STRIA_OK);
  EXPECT_EQ(got_there, there);
}

TEST_F(RefusedLink, leaves_puts_and_gets_that_wait_for_it_to_the_next_provider) {
  ASSERT_NO_FATAL_FAILURE(open("hesitant,fake"));
  std::vector<char> target(4096, 't');
  const std::vector<char> source(target.size(), 's');
  stria_region_t* region = nullptr;
  ASSERT_EQ(stria_region_register(workers_[1], target.data(), nullptr, target.size(),
                                  STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE, &region),
            STRIA_OK);
  char packed[STRIA_KEY_MAX];
  std::size_t bytes = sizeof packed;
  ASSERT_EQ(stria_region_key(region, packed, &bytes), STRIA_OK);
  stria_key_t* key = nullptr;
  ASSERT_EQ(stria_key_open(endpoint_, packed, bytes, &key), STRIA_OK);
  stria_rma_t rma{};
  rma.base = const_cast<char*>(source.data());
  rma.count = source.size();
  rma.key = key;
  stria_request_t request;
  ASSERT_EQ(stria_put(endpoint_, &rma, &request), STRIA_IN_PROGRESS);
  progress();
  EXPECT_EQ(state_of(request), STRIA_IN_PROGRESS);
  refuse(0);
  EXPECT_EQ(state_of(request), STRIA_OK);
  EXPECT_EQ(target, source);
  stria_key_close(key);
  EXPECT_EQ(stria_region_deregister(region), STRIA_OK);
}

}  // namespace
}  // namespace stria::test
