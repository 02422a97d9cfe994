// Two workers whose main links differ: each connected by a device of its own before it heard of the other.
// Messages of every length and scheme go by them, and the end of either link is the end of the peer on both
// sides.
#include <cstdio>
#include <string>
#include <vector>

#include "tag/objects.hpp"
#include "tests/tag/variable.hpp"
#include "tests/tag/world.hpp"
#include "transport/fake/fake.hpp"

namespace stria::test {
namespace {

/// What passes between the workers and the fake, whose functions have no state of their own.
struct Ways {
  std::vector<std::pair<stria_device_t*, std::uint32_t>> opened;  ///< devices with their indexes
  bool is_device_0_refused = false;                               ///< connect by it answers UNREACHABLE
} ways;

stria_status_t open_device(const stria_device_params_t* params, stria_device_t** device, char* error,
                           std::uint32_t room) {
  const stria_status_t opened = fake::fake_provider().open(params, device, error, room);
  ways.opened.emplace_back(*device, params->device);
  return opened;
}

stria_status_t connect(stria_device_t* device, const void* address, std::uint32_t bytes, void* peer, int wish,
                       stria_link_t** link, char* error, std::uint32_t room) {
  for (const auto& [handle, index] : ways.opened) {
    if (handle != device || index != 0 || !ways.is_device_0_refused) continue;
    *link = nullptr;
    std::snprintf(error, room, "fake: no route");
    return STRIA_ERR_UNREACHABLE;
  }
  return fake::fake_provider().connect(device, address, bytes, peer, wish, link, error, room);
}

/// Worker 0 connected by device 0, worker 1 by device 1, before either heard of the other. Long messages go
/// by the scheme.
class DifferentMainLinks : public testing::Test {
 protected:
  explicit DifferentMainLinks(const std::string& scheme = "auto")
      : scheme_("STRIA_RNDV_SCHEME", scheme),
        fabric_(fake::make_fabric(options())),
        use_(fabric_),
        table_(fake::fake_provider()) {
    ways = {};
    table_.open = open_device;
    table_.connect = connect;
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", "fake", "test"), STRIA_OK);
    EXPECT_EQ(stria_config_set("STRIA_CLOSE_TIMEOUT_MS", "5", "test"), STRIA_OK);
    const stria_provider_t* const builtins[] = {&table_};
    auto opened = tag::open_context(nullptr, builtins);
    EXPECT_TRUE(opened.has_value());
    context_ = reinterpret_cast<stria_context_t*>(opened->release());
    for (stria_worker_t*& worker : workers_)
      EXPECT_EQ(stria_worker_open(context_, nullptr, &worker), STRIA_OK);
    for (unsigned rank : {0u, 1u}) {
      char address[STRIA_ADDRESS_MAX];
      std::size_t bytes = sizeof address;
      EXPECT_EQ(stria_worker_address(workers_[1 - rank], address, &bytes), STRIA_OK);
      stria_endpoint_params_t params{};
      params.size = sizeof params;
      params.address = address;
      params.address_bytes = bytes;
      EXPECT_EQ(stria_endpoint_open(workers_[rank], &params, &endpoints_[rank]), STRIA_OK);
    }
    EXPECT_EQ(stria_endpoint_connect(endpoints_[0]), STRIA_OK);
    ways.is_device_0_refused = true;
    EXPECT_EQ(stria_endpoint_connect(endpoints_[1]), STRIA_OK);
    ways.is_device_0_refused = false;
  }
  ~DifferentMainLinks() override {
    for (stria_worker_t* worker : workers_) stria_worker_close(worker);
    stria_context_close(context_);
  }
  static fake::FabricOptions options() {
    fake::FabricOptions options = quick();
    options.devices = 2;
    return options;
  }
  /// A message of the rank to the other one arrives.
  void exchange(unsigned from, std::size_t bytes = 100) {
    std::vector<char> sent(bytes), got(bytes);
    for (std::size_t i = 0; i < bytes; ++i) sent[i] = static_cast<char>(i * 31 >> 3);
    stria_request_t sending, receiving;
    stria_send_t send{};
    send.base = sent.data();
    send.count = bytes;
    send.tag = 7;
    const stria_status_t started = stria_send(endpoints_[from], &send, &sending);
    ASSERT_TRUE(started == STRIA_OK || started == STRIA_IN_PROGRESS) << stria_last_error();
    stria_recv_t recv{};
    recv.base = got.data();
    recv.count = bytes;
    recv.match = {endpoints_[1 - from], 7, 0};
    const stria_status_t posted = stria_recv(workers_[1 - from], &recv, &receiving);
    ASSERT_TRUE(posted == STRIA_OK || posted == STRIA_IN_PROGRESS);
    EXPECT_EQ(outcome(receiving), STRIA_OK);
    if (started == STRIA_IN_PROGRESS) {
      EXPECT_EQ(outcome(sending), STRIA_OK);
    }
    EXPECT_EQ(got, sent);
  }
  stria_status_t outcome(stria_request_t& request) {
    for (int i = 0; i < 10000 && stria_request_test(&request, nullptr) == STRIA_IN_PROGRESS; ++i)
      for (stria_worker_t* worker : workers_) stria_worker_progress(worker);
    return stria_request_test(&request, nullptr);
  }

  Variable scheme_;
  std::shared_ptr<fake::Fabric> fabric_;
  fake::UseFabric use_;
  stria_provider_t table_;
  stria_context_t* context_ = nullptr;
  stria_worker_t* workers_[2] = {};
  stria_endpoint_t* endpoints_[2] = {};
};

// The key of an announcement is for the link that it came by, which is not the receiver's main one.
class LongMessages : public DifferentMainLinks, public testing::WithParamInterface<const char*> {
 protected:
  LongMessages() : DifferentMainLinks(GetParam()) {}
};
TEST_P(LongMessages, of_both_arrive_by_every_scheme) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{200000}, std::size_t{3000000}})
    for (const unsigned from : {0u, 1u, 1u, 0u}) exchange(from, bytes);
}
INSTANTIATE_TEST_SUITE_P(ByScheme, LongMessages, testing::Values("auto", "get", "both", "pipeline"),
                         [](const auto& scheme) { return std::string(scheme.param); });

class CutMainLink : public DifferentMainLinks, public testing::WithParamInterface<std::uint32_t> {};
// The device of each index has the main link of the worker of that rank.
TEST_P(CutMainLink, ends_the_peer_at_both_ends_whichever_is_cut) {
  const std::uint32_t device = GetParam();
  exchange(0);
  exchange(1);
  char room[2][8];
  stria_request_t waiting[2];
  for (const unsigned rank : {0u, 1u}) {
    stria_recv_t recv{};
    recv.base = room[rank];
    recv.count = sizeof room[rank];
    recv.match = {endpoints_[rank], 8, 0};
    ASSERT_EQ(stria_recv(workers_[rank], &recv, &waiting[rank]), STRIA_IN_PROGRESS);
  }
  ASSERT_TRUE(fake::cut_link(*fabric_, stria_worker_id(workers_[0]), stria_worker_id(workers_[1]), device,
                             fake::Loss::none));
  EXPECT_EQ(outcome(waiting[device]), STRIA_ERR_IO) << "of the worker whose main link was cut";
  EXPECT_EQ(outcome(waiting[1 - device]), STRIA_ERR_PEER_FAILED) << "of the one that was told";
}
INSTANTIATE_TEST_SUITE_P(ByDevice, CutMainLink, testing::Values(0u, 1u));

}  // namespace
}  // namespace stria::test
