// Workers with several devices of one provider: the address and every packed key have a part for each, a
// device reaches the peer's device of its own index, and one that cannot be opened or reached takes no other
// with it.
#include <cstdio>
#include <optional>

#include "tag/address.hpp"
#include "tag/objects.hpp"
#include "tag/remote_key.hpp"
#include "tests/tag/world.hpp"
#include "transport/fake/fake.hpp"

namespace stria::test {
namespace {

constexpr unsigned kMoves = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE;

/// What the fake's table is wrapped with, for all tests: the table has no memory of its own.
struct Faults {
  int closed_device = -1;                                         ///< the index that does not open
  int unreachable_device = -1;                                    ///< whose connect answers UNREACHABLE
  int coming_device = -1;                                         ///< whose connect answers IN_PROGRESS
  std::uint32_t count = 0;                                        ///< of devices; 0: as the fake says
  std::vector<std::pair<stria_device_t*, std::uint32_t>> opened;  ///< with their indexes
  std::vector<std::uint32_t> connected;                           ///< indexes, in the order of the calls
} faults;

const stria_group_devices_t kDevices = {
    .size = sizeof kDevices,
    .count = [](const stria_device_params_t* params) -> std::uint32_t {
      return faults.count != 0 ? faults.count : fake::fake_provider().devices->count(params);
    },
};

stria_status_t open_device(const stria_device_params_t* params, stria_device_t** device, char* error,
                           std::uint32_t room) {
  *device = nullptr;
  if (static_cast<int>(params->device) == faults.closed_device) {
    std::snprintf(error, room, "fake: the cable of adapter %u is not there", params->device);
    return STRIA_ERR_IO;
  }
  const stria_status_t opened = fake::fake_provider().open(params, device, error, room);
  if (opened == STRIA_OK) faults.opened.emplace_back(*device, params->device);
  return opened;
}

stria_status_t connect(stria_device_t* device, const void* address, std::uint32_t bytes, void* peer, int wish,
                       stria_link_t** link, char* error, std::uint32_t room) {
  for (const auto& [handle, index] : faults.opened) {
    if (handle != device) continue;
    faults.connected.push_back(index);
    if (static_cast<int>(index) == faults.coming_device) {
      const stria_status_t connected =
          fake::fake_provider().connect(device, address, bytes, peer, wish, link, error, room);
      return connected == STRIA_OK ? STRIA_IN_PROGRESS : connected;
    }
    if (static_cast<int>(index) != faults.unreachable_device) continue;
    *link = nullptr;
    std::snprintf(error, room, "fake: no route");
    return STRIA_ERR_UNREACHABLE;
  }
  return fake::fake_provider().connect(device, address, bytes, peer, wish, link, error, room);
}

class ManyDevices : public testing::Test {
 protected:
  ManyDevices() : table_(fake::fake_provider()) {
    faults = {};
    table_.devices = &kDevices;
    table_.open = open_device;
    table_.connect = connect;
    select(3);
  }
  ~ManyDevices() override {
    for (stria_worker_t* worker : workers_) stria_worker_close(worker);
    for (stria_context_t* context : contexts_) stria_context_close(context);
  }
  /// The fabric of the test has so many devices of each worker.
  void select(std::uint32_t devices) {
    fake::FabricOptions options = quick();
    options.devices = devices;
    use_.reset();
    fabric_ = fake::make_fabric(options);
    use_.emplace(fabric_);
  }
  stria_status_t try_open() {
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", "fake", "test"), STRIA_OK);
    EXPECT_EQ(stria_config_set("STRIA_CLOSE_TIMEOUT_MS", "5", "test"), STRIA_OK);
    const stria_provider_t* const builtins[] = {&table_};
    auto opened = tag::open_context(nullptr, builtins);
    EXPECT_TRUE(opened.has_value());
    contexts_.push_back(reinterpret_cast<stria_context_t*>(opened->release()));
    stria_worker_t* worker = nullptr;
    const stria_status_t status = stria_worker_open(contexts_.back(), nullptr, &worker);
    if (status == STRIA_OK) workers_.push_back(worker);
    return status;
  }
  stria_worker_t* open() {
    EXPECT_EQ(try_open(), STRIA_OK) << stria_last_error();
    return workers_.back();
  }
  static std::vector<std::byte> address_of(stria_worker_t* worker) {
    std::vector<std::byte> out(STRIA_ADDRESS_MAX);
    std::size_t bytes = out.size();
    EXPECT_EQ(stria_worker_address(worker, out.data(), &bytes), STRIA_OK) << bytes;
    out.resize(bytes);
    return out;
  }
  static stria_endpoint_t* endpoint(stria_worker_t* from, stria_worker_t* to) {
    const std::vector<std::byte> address = address_of(to);
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = address.data();
    params.address_bytes = address.size();
    stria_endpoint_t* out = nullptr;
    EXPECT_EQ(stria_endpoint_open(from, &params, &out), STRIA_OK) << stria_last_error();
    return out;
  }
  static std::vector<bool> devices_in(const std::vector<std::byte>& address) {
    const auto parsed = tag::parse_address(address);
    EXPECT_TRUE(parsed.has_value());
    std::vector<bool> has;
    for (std::uint8_t i = 0; i < fake::kMostDevices; ++i) has.push_back(!parsed->part("fake", i).empty());
    return has;
  }
  tag::RemoteKey key_of(stria_worker_t* owner) {
    stria_region_t* region = nullptr;
    EXPECT_EQ(stria_region_register(owner, words_, nullptr, sizeof words_, kMoves, &region), STRIA_OK);
    std::byte packed[STRIA_KEY_MAX];
    std::size_t bytes = sizeof packed;
    EXPECT_EQ(stria_region_key(region, packed, &bytes), STRIA_OK);
    auto key = tag::parse_key({packed, bytes});
    EXPECT_TRUE(key.has_value());
    stria_region_deregister(region);
    return *std::move(key);
  }
  /// A message arrives.
  void exchange(stria_worker_t* from, stria_worker_t* to) {
    char sent[100], got[100] = {};
    std::memset(sent, 0x5a, sizeof sent);
    stria_recv_t recv{};
    recv.base = got;
    recv.count = sizeof got;
    recv.match = {nullptr, 7, 0};
    stria_request_t receive, request;
    ASSERT_EQ(stria_recv(to, &recv, &receive), STRIA_IN_PROGRESS);
    stria_send_t send{};
    send.base = sent;
    send.count = sizeof sent;
    send.tag = 7;
    const stria_status_t status = stria_send(endpoint(from, to), &send, &request);
    ASSERT_TRUE(status == STRIA_OK || status == STRIA_IN_PROGRESS) << stria_last_error();
    stria_info_t info{};
    for (int i = 0; i < 100000 && stria_request_test(&receive, &info) == STRIA_IN_PROGRESS; ++i)
      for (stria_worker_t* worker : workers_) stria_worker_progress(worker);
    EXPECT_EQ(info.status, STRIA_OK);
    EXPECT_EQ(std::memcmp(got, sent, sizeof got), 0);
  }

  stria_provider_t table_;
  std::shared_ptr<fake::Fabric> fabric_;
  std::optional<fake::UseFabric> use_;
  std::vector<stria_context_t*> contexts_;
  std::vector<stria_worker_t*> workers_;
  std::uint64_t words_[4] = {1, 2, 3, 4};
};

TEST_F(ManyDevices, each_has_a_part_of_the_address_and_of_a_packed_key) {
  stria_worker_t* const owner = open();
  EXPECT_EQ(devices_in(address_of(owner)), (std::vector<bool>{true, true, true, false}));
  const tag::RemoteKey key = key_of(owner);
  ASSERT_EQ(key.parts.size(), 3u);
  for (std::uint8_t i = 0; i < 3; ++i) {
    EXPECT_EQ(key.parts[i].provider, "fake");
    EXPECT_EQ(key.parts[i].device, i);
    EXPECT_EQ(&tag::part_for(key, "fake", i), &key.parts[i].key);
  }
  EXPECT_EQ(tag::part_for(key, "fake", 3).bytes, 0u);
  EXPECT_NE(std::memcmp(key.parts[0].key.data, key.parts[1].key.data, key.parts[0].key.bytes), 0);
}

TEST_F(ManyDevices, one_that_cannot_be_opened_leaves_the_others_and_their_indexes) {
  faults.closed_device = 0;
  stria_worker_t* const lame = open();
  EXPECT_EQ(devices_in(address_of(lame)), (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(key_of(lame).parts.front().device, 1);
  faults.closed_device = -1;
  stria_worker_t* const whole = open();
  faults.connected.clear();
  exchange(whole, lame);
  EXPECT_EQ(faults.connected, std::vector<std::uint32_t>{1}) << "the first device that both have";
  exchange(lame, whole);
}

TEST_F(ManyDevices, when_none_can_be_opened_each_is_named_with_its_reason) {
  select(1);
  faults.count = 1;
  faults.closed_device = 0;
  EXPECT_EQ(try_open(), STRIA_ERR_IO);
  EXPECT_STREQ(stria_last_error(),
               "stria_worker_open: no provider could be opened (fake: the cable of adapter 0 is not there)");
}

TEST_F(ManyDevices, one_that_does_not_reach_the_peer_leaves_it_to_the_next) {
  stria_worker_t* const a = open();
  stria_worker_t* const b = open();
  faults.unreachable_device = 0;
  exchange(a, b);
  EXPECT_EQ(faults.connected, (std::vector<std::uint32_t>{0, 1}));
  exchange(b, a);
}

TEST_F(ManyDevices, a_peer_with_fewer_of_them_is_reached_by_those_it_has) {
  faults.count = 1;
  stria_worker_t* const one = open();
  faults.count = 0;
  stria_worker_t* const three = open();
  EXPECT_EQ(devices_in(address_of(one)), (std::vector<bool>{true, false, false, false}));
  exchange(three, one);
  exchange(one, three);
}

// Device 1 of the one worker and device 0 of the other are not connected by mistake, although each is the
// first of its worker.
TEST_F(ManyDevices, of_different_indexes_do_not_meet) {
  select(2);
  faults.closed_device = 0;
  stria_worker_t* const second = open();
  faults.closed_device = 1;
  stria_worker_t* const first = open();
  char byte = 0;
  stria_send_t send{};
  send.base = &byte;
  send.count = 1;
  stria_request_t request;
  EXPECT_EQ(stria_send(endpoint(first, second), &send, &request), STRIA_ERR_UNREACHABLE);
  EXPECT_NE(std::string(stria_last_error()).find("fake[0]: not offered by the peer"), std::string::npos)
      << stria_last_error();
}

TEST_F(ManyDevices, more_than_a_worker_may_have_are_refused_with_the_name_and_the_limit) {
  faults.count = STRIA_DEVICES_MAX + 1;
  EXPECT_EQ(try_open(), STRIA_ERR_INVALID);
  const std::string text = stria_last_error();
  EXPECT_NE(text.find("provider fake has 9 devices"), std::string::npos) << text;
  EXPECT_NE(text.find("at most 8"), std::string::npos) << text;
  EXPECT_TRUE(faults.opened.empty());
}

// Worker a is still asking for a link by device 0 when b, which does not get there by that device, comes by
// device 1. So device 1 has the main link of both. Then the link that a asked for comes up after all: to b it
// is a rail, and b asks for pieces by it.
TEST_F(ManyDevices, a_link_that_comes_up_after_the_peer_came_by_another_is_a_rail_of_both) {
  select(2);
  const char* const config[][3] = {{"STRIA_RNDV_SCHEME", "pipeline", "auto"},
                                   {"STRIA_RNDV_RAILS", "16K", "1M"},
                                   {"STRIA_RNDV_PIECE", "4K", "512K"}};
  for (const auto& one : config) ASSERT_EQ(stria_config_set(one[0], one[1], "test"), STRIA_OK);
  stria_worker_t* const a = open();
  stria_worker_t* const b = open();
  stria_endpoint_t* const to_b = endpoint(a, b);
  stria_endpoint_t* const to_a = endpoint(b, a);
  faults.coming_device = 0;
  ASSERT_EQ(stria_endpoint_connect(to_b), STRIA_IN_PROGRESS);
  faults.coming_device = -1;
  faults.unreachable_device = 0;
  ASSERT_EQ(stria_endpoint_connect(to_a), STRIA_OK);
  faults.unreachable_device = -1;
  faults.coming_device = 0;
  for (int i = 0; i < 1000; ++i) stria_worker_progress(a);
  faults.coming_device = -1;
  for (int i = 0; i < 1000; ++i) stria_worker_progress(b);

  std::vector<char> sent(200000), got(sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 31 >> 3);
  stria_request_t requests[2];
  stria_recv_t recv{};
  recv.base = got.data();
  recv.count = got.size();
  ASSERT_EQ(stria_recv(b, &recv, &requests[0]), STRIA_IN_PROGRESS);
  stria_send_t send{};
  send.base = sent.data();
  send.count = sent.size();
  ASSERT_EQ(stria_send(to_b, &send, &requests[1]), STRIA_IN_PROGRESS) << stria_last_error();
  for (stria_request_t& request : requests) {
    for (int i = 0; i < 100000 && stria_request_test(&request, nullptr) == STRIA_IN_PROGRESS; ++i)
      for (stria_worker_t* worker : workers_) stria_worker_progress(worker);
    EXPECT_EQ(stria_request_test(&request, nullptr), STRIA_OK);
  }
  EXPECT_EQ(got, sent);
  stria_counters_t counters{};
  counters.size = sizeof counters;
  ASSERT_EQ(stria_worker_counters(b, &counters), STRIA_OK);
  EXPECT_GT(counters.rail_pieces, 0u);
  for (const auto& one : config) ASSERT_EQ(stria_config_set(one[0], one[2], "test"), STRIA_OK);
}

// The key that a device of one worker uses is that of the owner's device at the other end of its link.
TEST_F(ManyDevices, a_get_goes_through_the_key_of_the_device_that_has_the_link) {
  stria_worker_t* const owner = open();
  stria_worker_t* const user = open();
  faults.unreachable_device = 0;
  stria_region_t* region = nullptr;
  ASSERT_EQ(stria_region_register(owner, words_, nullptr, sizeof words_, kMoves, &region), STRIA_OK);
  std::byte packed[STRIA_KEY_MAX];
  std::size_t bytes = sizeof packed;
  ASSERT_EQ(stria_region_key(region, packed, &bytes), STRIA_OK);
  stria_endpoint_t* const to_owner = endpoint(user, owner);
  stria_key_t* key = nullptr;
  ASSERT_EQ(stria_key_open(to_owner, packed, bytes, &key), STRIA_OK);
  std::uint64_t read[4] = {};
  stria_rma_t rma{};
  rma.base = read;
  rma.count = sizeof read;
  rma.key = key;
  ASSERT_EQ(stria_get_wait(to_owner, &rma), STRIA_OK) << stria_last_error();
  EXPECT_EQ(std::memcmp(read, words_, sizeof read), 0);
  stria_counters_t counters{};
  counters.size = sizeof counters;
  ASSERT_EQ(stria_worker_counters(user, &counters), STRIA_OK);
  EXPECT_EQ(counters.fallbacks, 0u);
  stria_key_close(key);
  stria_region_deregister(region);
}

}  // namespace
}  // namespace stria::test
