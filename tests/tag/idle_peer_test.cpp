// What a peer costs to whom nothing was sent: jobs are large, and most of their processes never talk to each
// other. Every allocation of the process is counted (counted_memory.hpp).
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "stria/stria.h"
#include "tests/tag/counted_memory.hpp"

namespace stria::test {
namespace {

constexpr double kPromised = 256;           // docs/user-library.md
constexpr double kPromisedConnected = 960;  // docs/architecture.md

/// A worker with shm alone, and addresses of as many others as one likes: its own, with another worker's id.
class IdlePeers : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(stria_config_set("STRIA_PROVIDERS", "shm", "test"), STRIA_OK);
    ASSERT_EQ(stria_context_open(nullptr, &context_), STRIA_OK) << stria_last_error();
    ASSERT_EQ(stria_worker_open(context_, nullptr, &worker_), STRIA_OK) << stria_last_error();
    bytes_ = address_.size();
    ASSERT_EQ(stria_worker_address(worker_, address_.data(), &bytes_), STRIA_OK);
  }
  void TearDown() override {
    stria_worker_close(worker_);
    stria_context_close(context_);
  }
  stria_endpoint_t* open(std::uint64_t worker_id) {
    constexpr std::size_t kWorkerIdAt = 8;  // docs/protocol.md
    std::memcpy(address_.data() + kWorkerIdAt, &worker_id, sizeof worker_id);
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = address_.data();
    params.address_bytes = bytes_;
    stria_endpoint_t* endpoint = nullptr;
    EXPECT_EQ(stria_endpoint_open(worker_, &params, &endpoint), STRIA_OK) << stria_last_error();
    return endpoint;
  }

  stria_context_t* context_ = nullptr;
  stria_worker_t* worker_ = nullptr;
  std::array<char, STRIA_ADDRESS_MAX> address_{};
  std::size_t bytes_ = 0;
};

TEST_F(IdlePeers, cost_no_more_than_promised_each_however_many_there_are) {
  std::vector<stria_endpoint_t*> endpoints;
  endpoints.reserve(100000);
  const std::size_t before = counted::bytes();
  for (const std::size_t count : {1000u, 10000u, 50000u, 100000u}) {
    while (endpoints.size() < count) endpoints.push_back(open(0x1234567890abcdefu * (endpoints.size() + 1)));
    const double each = static_cast<double>(counted::bytes() - before) / static_cast<double>(count);
    std::printf("%zu idle peers: %.1f bytes each\n", count, each);
    RecordProperty("bytes_each_of_" + std::to_string(count), std::to_string(each));
    EXPECT_LE(each, kPromised) << count << " peers";
  }
  const std::size_t all = counted::bytes();
  for (stria_endpoint_t* endpoint : endpoints) stria_endpoint_close(endpoint);
  for (std::size_t i = 0; i < endpoints.size(); ++i) open(0x1234567890abcdefu * (i + 1));
  EXPECT_EQ(counted::bytes(), all)
      << "peers that are known, and endpoints that were closed, cost nothing a second time";
}

TEST_F(IdlePeers, cost_little_more_than_their_link_when_they_are_connected) {
  constexpr std::size_t kPeers = 64;
  std::array<stria_worker_t*, kPeers> workers{};
  std::array<stria_endpoint_t*, kPeers> endpoints{};
  for (std::size_t i = 0; i < kPeers; ++i) {
    ASSERT_EQ(stria_worker_open(context_, nullptr, &workers[i]), STRIA_OK) << stria_last_error();
    bytes_ = address_.size();
    ASSERT_EQ(stria_worker_address(workers[i], address_.data(), &bytes_), STRIA_OK);
    endpoints[i] = open(stria_worker_id(workers[i]));
  }
  const std::size_t before = counted::bytes();
  for (stria_endpoint_t* endpoint : endpoints) ASSERT_GE(stria_endpoint_connect(endpoint), STRIA_OK);
  const double each = static_cast<double>(counted::bytes() - before) / static_cast<double>(kPeers);
  std::printf("%zu connected peers: %.1f bytes more each\n", kPeers, each);
  RecordProperty("bytes_more_each_connected", std::to_string(each));
  EXPECT_LE(each, kPromisedConnected);
  for (stria_worker_t* worker : workers) stria_worker_close(worker);
}

TEST_F(IdlePeers, are_told_apart_whatever_their_ids_are) {
  // Ids that differ in their high bits alone, and those that follow each other.
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 1; i <= 3000; ++i) {
    ids.push_back(i << 40);
    ids.push_back(i);
  }
  std::vector<stria_endpoint_t*> endpoints;
  for (const std::uint64_t id : ids) endpoints.push_back(open(id));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    stria_endpoint_state_t state{};
    state.size = sizeof state;
    ASSERT_EQ(stria_endpoint_info(endpoints[i], &state), STRIA_OK);
    ASSERT_EQ(state.peer, ids[i]);
    ASSERT_EQ(state.connected, 0);
  }
}

}  // namespace
}  // namespace stria::test
