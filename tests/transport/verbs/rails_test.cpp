// Two adapters of a host under one worker, in the laboratory: STRIA_VERBS_DEVICE names both.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <random>

#include "stria/stria.h"
#include "tag/address.hpp"
#include "tag/objects.hpp"
#include "tests/contract/peer.hpp"
#include "transport/verbs/verbs.hpp"

namespace stria::verbs {
namespace {

using contract::drive;
using contract::header;
using contract::pattern;
using contract::Peer;

class VerbsRails : public testing::Test {
 protected:
  void SetUp() override {
    const char* const devices = std::getenv("STRIA_VERBS_DEVICE");
    const std::string list = devices == nullptr ? "" : devices;
    const std::size_t comma = list.find(',');
    if (comma == std::string::npos) GTEST_SKIP() << "STRIA_VERBS_DEVICE names no two devices";
    names_ = {list.substr(0, comma), list.substr(comma + 1)};
  }
  std::array<std::string, 2> names_;
};

TEST_F(VerbsRails, each_device_connects_to_that_of_its_index_and_moves_packets) {
  for (const std::uint32_t index : {0u, 1u}) {
    Peer a(verbs_provider(), 1, "a secret of sixteen", index);
    Peer b(verbs_provider(), 2, "a secret of sixteen", index);
    stria_link_t* const link = a.connect(b);
    for (std::uint16_t i = 0; i < 20; ++i)
      ASSERT_EQ(contract::send({&a, &b}, a, link, contract::Path::buffered, header(i), pattern(i, 500)),
                Status::ok);
    ASSERT_TRUE(drive({&a, &b}, [&] { return b.received.size() == 20; }));
    for (std::uint16_t i = 0; i < 20; ++i) EXPECT_EQ(b.received[i].payload, pattern(i, 500));
    const std::string path = a.limits(link).path;
    EXPECT_NE(path.find(names_[index]), std::string::npos) << path;
  }
}

/// A worker with an endpoint to another.
struct Side {
  Side() {
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", "verbs", "test"), STRIA_OK);
    const stria_provider_t* const builtins[] = {&verbs_provider()};
    auto opened = tag::open_context(nullptr, builtins);
    EXPECT_TRUE(opened.has_value());
    context = reinterpret_cast<stria_context_t*>(opened->release());
    EXPECT_EQ(stria_worker_open(context, nullptr, &worker), STRIA_OK) << stria_last_error();
    address.resize(STRIA_ADDRESS_MAX);
    std::size_t bytes = address.size();
    EXPECT_EQ(stria_worker_address(worker, address.data(), &bytes), STRIA_OK);
    address.resize(bytes);
  }
  ~Side() {
    stria_worker_close(worker);
    stria_context_close(context);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  void open_endpoint(const Side& other) {
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = other.address.data();
    params.address_bytes = other.address.size();
    EXPECT_EQ(stria_endpoint_open(worker, &params, &peer), STRIA_OK) << stria_last_error();
  }
  stria_context_t* context = nullptr;
  stria_worker_t* worker = nullptr;
  std::vector<std::byte> address;
  stria_endpoint_t* peer = nullptr;
};

/// From a to b; every byte is compared.
void transfer(const Side& a, const Side& b, std::size_t bytes) {
  std::mt19937_64 random(bytes);
  std::vector<std::uint64_t> sent(bytes / sizeof(std::uint64_t)), got(sent.size());
  for (std::uint64_t& word : sent) word = random();
  stria_recv_t recv{};
  recv.base = got.data();
  recv.count = bytes;
  recv.match = {b.peer, 1, 0};
  stria_send_t send{};
  send.base = sent.data();
  send.count = bytes;
  send.tag = 1;
  stria_request_t requests[2];
  stria_info_t info[2]{};
  ASSERT_EQ(stria_recv(b.worker, &recv, &requests[0]), STRIA_IN_PROGRESS);
  ASSERT_EQ(stria_send(a.peer, &send, &requests[1]), STRIA_IN_PROGRESS) << stria_last_error();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (stria_request_test(&requests[0], &info[0]) == STRIA_IN_PROGRESS ||
         stria_request_test(&requests[1], &info[1]) == STRIA_IN_PROGRESS) {
    stria_worker_progress(a.worker);
    stria_worker_progress(b.worker);
    ASSERT_LT(std::chrono::steady_clock::now(), end) << bytes << " bytes do not arrive";
  }
  EXPECT_EQ(info[0].status, STRIA_OK);
  EXPECT_EQ(info[1].status, STRIA_OK);
  EXPECT_TRUE(sent == got) << bytes << " bytes";
}

void transfers(const Side& a, const Side& b) {
  for (std::size_t bytes = 64 << 10; bytes <= std::size_t{16} << 20; bytes *= 4) transfer(a, b, bytes);
}

/// Pieces of long messages that the worker received by another link than the main one.
std::uint64_t rail_pieces(const Side& side) {
  stria_counters_t counters{};
  counters.size = sizeof counters;
  EXPECT_EQ(stria_worker_counters(side.worker, &counters), STRIA_OK);
  return counters.rail_pieces;
}

TEST_F(VerbsRails, a_worker_opens_both_and_long_transfers_are_right) {
  Side a, b;
  a.open_endpoint(b);
  b.open_endpoint(a);
  const auto parsed = tag::parse_address(a.address);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_FALSE(parsed->part("verbs", 0).empty());
  EXPECT_FALSE(parsed->part("verbs", 1).empty());
  transfers(a, b);
  EXPECT_GT(rail_pieces(b), 0u) << "gets go by both";
}

TEST_F(VerbsRails, both_carry_what_goes_as_fragments) {
  ASSERT_EQ(stria_config_set("STRIA_RNDV_SCHEME", "pipeline", "test"), STRIA_OK);
  {
    Side a, b;
    a.open_endpoint(b);
    b.open_endpoint(a);
    transfers(a, b);
    EXPECT_GT(rail_pieces(b), 0u);
  }
  EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", "auto", "test"), STRIA_OK);
}

}  // namespace
}  // namespace stria::verbs
