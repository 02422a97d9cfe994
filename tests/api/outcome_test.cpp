// What tells how an operation ended: its request, tested or waited for, whether the call that started it was
// the one that completed it or not; and the reason of stria_last_error(), which is this outcome's own.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "tests/api/explained.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

class Outcome : public testing::Test {
 protected:
  Outcome() {
    EXPECT_GE(stria_endpoint_connect(world_.endpoint(0, 1)), STRIA_OK);
    EXPECT_GE(stria_endpoint_connect(world_.endpoint(1, 0)), STRIA_OK);
    for (int i = 0; i < 100; ++i) world_.step();
    std::memset(&request_, 0xab, sizeof request_);
    std::memset(&other_, 0xab, sizeof other_);
  }
  stria_send_t send_of(std::size_t bytes, std::uint64_t tag = 7) {
    stria_send_t send{};
    send.base = data_.data();
    send.count = bytes;
    send.tag = tag;
    send.immediate = 5;
    return send;
  }
  stria_recv_t recv_of(std::size_t bytes, std::uint64_t tag = 7) {
    stria_recv_t recv{};
    recv.base = room_.data();
    recv.count = bytes;
    recv.match = {world_.endpoint(1, 0), tag, 0};
    return recv;
  }
  /// A message is in the unexpected queue of worker 1.
  void send_first(std::size_t bytes) {
    const stria_send_t send = send_of(bytes);
    stria_request_t sending;
    ASSERT_GE(stria_send(world_.endpoint(0, 1), &send, &sending), STRIA_OK);
    const auto came = [&] { return counters(world_, 1).unexpected_messages == 1; };
    ASSERT_TRUE(world_.run_until(came));
  }
  bool ended(const stria_request_t& request) {
    return world_.run_until([&] { return stria_request_test(&request, nullptr) != STRIA_IN_PROGRESS; });
  }
  /// Test and wait answer `status`, and describe it.
  void expect_outcome(unsigned rank, stria_request_t& request, stria_status_t status, std::uint64_t length) {
    stria_info_t tested{}, waited{};
    ASSERT_TRUE(ended(request));
    EXPECT_EQ(stria_request_test(&request, &tested), status);
    EXPECT_EQ(stria_request_wait(world_.worker(rank), &request, &waited), status);
    EXPECT_EQ(tested.status, status);
    EXPECT_EQ(tested.length, length);
    EXPECT_EQ(std::memcmp(&tested, &waited, sizeof tested), 0);
  }
  World world_{2, quick()};
  std::vector<char> data_ = std::vector<char>(1 << 20, 'd'), room_ = std::vector<char>(1 << 20);
  stria_request_t request_, other_;
};

TEST_F(Outcome, of_a_send_that_was_complete_at_once_is_in_its_request) {
  for (const std::size_t bytes : {0u, 8u, 3000u}) {
    const stria_send_t send = send_of(bytes);
    ASSERT_EQ(stria_send(world_.endpoint(0, 1), &send, &request_), STRIA_OK);
    expect_outcome(0, request_, STRIA_OK, bytes);
    EXPECT_EQ(stria_request_cancel(world_.worker(0), &request_), STRIA_ERR_NO_RESOURCE);
    EXPECT_TRUE(explained(STRIA_ERR_NO_RESOURCE, {"stria_request_cancel", "too late"}));
  }
  stria_layout_t *word = nullptr, *column = nullptr;
  ASSERT_EQ(stria_layout_bytes(8, &word), STRIA_OK);
  ASSERT_EQ(stria_layout_vector(10, 1, 64, word, &column), STRIA_OK);
  stria_send_t send = send_of(2);
  send.layout = column;
  std::memset(&request_, 0xab, sizeof request_);
  ASSERT_EQ(stria_send(world_.endpoint(0, 1), &send, &request_), STRIA_OK);
  expect_outcome(0, request_, STRIA_OK, 160);
  stria_layout_free(column);
  stria_layout_free(word);
}

TEST_F(Outcome, of_a_receive_that_was_complete_at_once_is_in_its_request_and_in_info) {
  for (const bool with_info : {false, true}) {
    for (const std::uint32_t flags : {0u, STRIA_RECV_LOOK}) {
      for (const std::size_t bytes : {8u, 3000u}) {
        ASSERT_NO_FATAL_FAILURE(send_first(bytes));
        std::memset(&request_, 0xab, sizeof request_);
        stria_info_t info{};
        stria_recv_t recv = recv_of(5000);
        recv.flags = flags;
        recv.info = with_info ? &info : nullptr;
        ASSERT_EQ(stria_recv(world_.worker(1), &recv, &request_), STRIA_OK);
        expect_outcome(1, request_, STRIA_OK, bytes);
        stria_info_t tested{};
        EXPECT_EQ(stria_request_test(&request_, &tested), STRIA_OK);
        EXPECT_EQ(tested.immediate, 5u);
        EXPECT_EQ(tested.received, bytes);
        EXPECT_EQ(tested.source, stria_worker_id(world_.worker(0)));
        if (with_info) {
          EXPECT_EQ(std::memcmp(&tested, &info, sizeof info), 0);
        }
      }
    }
  }
}

TEST_F(Outcome, of_a_matched_receive_is_in_its_request) {
  ASSERT_NO_FATAL_FAILURE(send_first(100));
  stria_message_t* message = nullptr;
  const stria_match_t match{nullptr, 7, 0};
  ASSERT_EQ(stria_mprobe(world_.worker(1), &match, &message, nullptr), STRIA_OK);
  stria_info_t info{};
  stria_recv_t recv = recv_of(10);
  recv.info = &info;
  fail_otherwise();
  ASSERT_EQ(stria_mrecv(world_.worker(1), message, &recv, &request_), STRIA_OK);
  EXPECT_EQ(info.status, STRIA_ERR_TRUNCATED);
  EXPECT_TRUE(explained(STRIA_ERR_TRUNCATED, {"100 bytes", "10 bytes"})) << "of what *info says";
  expect_outcome(1, request_, STRIA_ERR_TRUNCATED, 100);
}

TEST_F(Outcome, of_puts_gets_and_atomics_is_in_their_request) {
  constexpr unsigned kAll = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE | STRIA_ACCESS_REMOTE_ATOMIC;
  stria_region_t* region = nullptr;
  alignas(8) std::array<std::uint64_t, 8> words = {1, 2, 3};
  ASSERT_EQ(stria_region_register(world_.worker(1), words.data(), nullptr, sizeof words, kAll, &region),
            STRIA_OK);
  std::array<char, STRIA_KEY_MAX> packed;
  std::size_t bytes = packed.size();
  ASSERT_EQ(stria_region_key(region, packed.data(), &bytes), STRIA_OK);
  stria_key_t* key = nullptr;
  ASSERT_EQ(stria_key_open(world_.endpoint(0, 1), packed.data(), bytes, &key), STRIA_OK);
  std::uint64_t got = 0;
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{8}}) {
    const stria_rma_t rma{&got, nullptr, count, key, 8, nullptr, nullptr};
    for (const auto call : {&stria_get, &stria_put}) {
      std::memset(&request_, 0xab, sizeof request_);
      const stria_status_t answer = call(world_.endpoint(0, 1), &rma, &request_);
      ASSERT_GE(answer, STRIA_OK);
      if (count == 0) {
        EXPECT_EQ(answer, STRIA_OK);
      }
      expect_outcome(0, request_, STRIA_OK, count);
    }
  }
  EXPECT_EQ(got, 2u);
  std::uint64_t before = 0;
  const stria_atomic_t add{sizeof add, STRIA_ATOMIC_FETCH_ADD, key, 0, 5, 0, &before, nullptr, nullptr};
  ASSERT_GE(stria_atomic(world_.endpoint(0, 1), &add, &request_), STRIA_OK);
  expect_outcome(0, request_, STRIA_OK, 8);
  EXPECT_EQ(before, 1u);

  // Refused by what the key says, each for its own reason.
  stria_rma_t rma{&got, nullptr, 8, key, 60, nullptr, nullptr};
  EXPECT_EQ(stria_get(world_.endpoint(0, 1), &rma, &request_), STRIA_ERR_ACCESS);
  EXPECT_TRUE(explained(STRIA_ERR_ACCESS, {"stria_get", "8 bytes at offset 60", "64 bytes"}));
  ASSERT_EQ(stria_region_deregister(region), STRIA_OK);
  rma.remote_offset = 0;
  fail_otherwise();
  stria_status_t status = stria_get(world_.endpoint(0, 1), &rma, &request_);
  if (status == STRIA_IN_PROGRESS) {
    ASSERT_TRUE(ended(request_));
    fail_otherwise();
    status = stria_request_test(&request_, nullptr);
  }
  EXPECT_EQ(status, STRIA_ERR_ACCESS);
  EXPECT_TRUE(explained(STRIA_ERR_ACCESS, {hex(stria_worker_id(world_.worker(1))), "deregistered"}));
  stria_key_close(key);
}

TEST_F(Outcome, of_atomics_and_accesses_without_the_right_names_the_right) {
  stria_region_t* region = nullptr;
  alignas(8) std::array<std::uint64_t, 8> words = {};
  ASSERT_EQ(stria_region_register(world_.worker(1), words.data(), nullptr, sizeof words,
                                  STRIA_ACCESS_REMOTE_READ, &region),
            STRIA_OK);
  std::array<char, STRIA_KEY_MAX> packed;
  std::size_t bytes = packed.size();
  ASSERT_EQ(stria_region_key(region, packed.data(), &bytes), STRIA_OK);
  stria_key_t* key = nullptr;
  ASSERT_EQ(stria_key_open(world_.endpoint(0, 1), packed.data(), bytes, &key), STRIA_OK);
  std::uint64_t word = 0;
  const stria_rma_t rma{&word, nullptr, 8, key, 0, nullptr, nullptr};
  EXPECT_EQ(stria_put(world_.endpoint(0, 1), &rma, &request_), STRIA_ERR_ACCESS);
  EXPECT_TRUE(explained(STRIA_ERR_ACCESS, {"stria_put", "STRIA_ACCESS_REMOTE_WRITE"}));
  const stria_atomic_t add{sizeof add, STRIA_ATOMIC_FETCH_ADD, key, 0, 5, 0, &word, nullptr, nullptr};
  EXPECT_EQ(stria_atomic_wait(world_.endpoint(0, 1), &add), STRIA_ERR_ACCESS);
  EXPECT_TRUE(explained(STRIA_ERR_ACCESS, {"stria_atomic_wait", "STRIA_ACCESS_REMOTE_ATOMIC"}));
  // The endpoint leads to another worker than the key's.
  EXPECT_EQ(stria_put(world_.endpoint(1, 0), &rma, &request_), STRIA_ERR_INVALID);
  EXPECT_TRUE(explained(STRIA_ERR_INVALID, {"stria_put", hex(stria_worker_id(world_.worker(1))),
                                            hex(stria_worker_id(world_.worker(0)))}));
  stria_key_close(key);
  EXPECT_EQ(stria_region_deregister(region), STRIA_OK);
}

TEST_F(Outcome, of_a_truncated_receive_is_answered_by_test_with_both_lengths) {
  const stria_recv_t recv = recv_of(4);
  const stria_send_t send = send_of(16);
  for (const bool posted : {true, false}) {
    if (posted) {
      ASSERT_EQ(stria_recv(world_.worker(1), &recv, &request_), STRIA_IN_PROGRESS);
    }
    ASSERT_GE(stria_send(world_.endpoint(0, 1), &send, &other_), STRIA_OK);
    if (!posted) {
      const auto came = [&] { return counters(world_, 1).unexpected_messages == 1; };
      ASSERT_TRUE(world_.run_until(came));
      ASSERT_GE(stria_recv(world_.worker(1), &recv, &request_), STRIA_OK);
    }
    ASSERT_TRUE(ended(request_));
    fail_otherwise();
    EXPECT_EQ(stria_request_test(&request_, nullptr), STRIA_ERR_TRUNCATED);
    EXPECT_TRUE(
        explained(STRIA_ERR_TRUNCATED, {"16 bytes", "4 bytes", hex(stria_worker_id(world_.worker(0)))}));
    fail_otherwise();
    EXPECT_EQ(stria_request_wait(world_.worker(1), &request_, nullptr), STRIA_ERR_TRUNCATED);
    EXPECT_TRUE(explained(STRIA_ERR_TRUNCATED, {"16 bytes", "4 bytes"}));
  }
}

TEST_F(Outcome, of_a_cancelled_receive_says_why) {
  const stria_recv_t recv = recv_of(4);
  ASSERT_EQ(stria_recv(world_.worker(1), &recv, &request_), STRIA_IN_PROGRESS);
  ASSERT_EQ(stria_recv(world_.worker(1), &recv, &other_), STRIA_IN_PROGRESS);
  ASSERT_EQ(stria_request_cancel(world_.worker(1), &request_), STRIA_OK);
  EXPECT_EQ(stria_request_test(&request_, nullptr), STRIA_ERR_CANCELLED);
  EXPECT_TRUE(explained(STRIA_ERR_CANCELLED, {"stria_request_cancel"}));
  world_.close(1);
  EXPECT_EQ(stria_request_test(&other_, nullptr), STRIA_ERR_CANCELLED) << "its worker is gone";
  EXPECT_TRUE(explained(STRIA_ERR_CANCELLED, {"closed"}));
}

TEST_F(Outcome, of_operations_with_a_peer_that_died_names_the_peer) {
  const std::string peer = hex(stria_worker_id(world_.worker(0)));
  const stria_recv_t recv = recv_of(4);
  ASSERT_EQ(stria_recv(world_.worker(1), &recv, &request_), STRIA_IN_PROGRESS);
  const stria_send_t send = send_of(1 << 20);
  ASSERT_EQ(stria_send(world_.endpoint(1, 0), &send, &other_), STRIA_IN_PROGRESS);
  world_.kill(0, fake::Loss::none);
  for (const stria_request_t* request : {&request_, &other_}) {
    const auto over = [&] {
      (void)stria_worker_progress(world_.worker(1));
      return stria_request_test(request, nullptr) != STRIA_IN_PROGRESS;
    };
    for (int i = 0; i < 200000 && !over(); ++i) continue;
    fail_otherwise();
    EXPECT_EQ(stria_request_test(request, nullptr), STRIA_ERR_PEER_FAILED);
    EXPECT_TRUE(
        explained(STRIA_ERR_PEER_FAILED, {peer, request == &request_ ? "a receive from" : "a send to"}));
  }
  EXPECT_EQ(stria_recv(world_.worker(1), &recv, &request_), STRIA_ERR_PEER_FAILED);
  EXPECT_TRUE(explained(STRIA_ERR_PEER_FAILED, {"stria_recv", peer}));
  EXPECT_EQ(stria_send_wait(world_.endpoint(1, 0), &send), STRIA_ERR_PEER_FAILED);
  EXPECT_TRUE(explained(STRIA_ERR_PEER_FAILED, {peer}));
  EXPECT_EQ(stria_endpoint_connect(world_.endpoint(1, 0)), STRIA_ERR_PEER_FAILED);
  EXPECT_TRUE(explained(STRIA_ERR_PEER_FAILED, {"stria_endpoint_connect", peer}));
}

TEST_F(Outcome, in_a_callback_is_explained_there) {
  std::string text;
  stria_recv_t recv = recv_of(4);
  recv.user = &text;
  recv.callback = [](stria_request_t*, const stria_info_t* info, void* user) {
    EXPECT_EQ(info->status, STRIA_ERR_TRUNCATED);
    EXPECT_EQ(stria_last_error_status(), info->status);
    *static_cast<std::string*>(user) = stria_last_error();
  };
  ASSERT_EQ(stria_recv(world_.worker(1), &recv, &request_), STRIA_IN_PROGRESS);
  const stria_send_t send = send_of(16);
  ASSERT_GE(stria_send(world_.endpoint(0, 1), &send, &other_), STRIA_OK);
  fail_otherwise();
  ASSERT_TRUE(world_.run_until([&] { return !text.empty(); }));
  EXPECT_NE(text.find("16 bytes"), std::string::npos) << text;
}

}  // namespace
}  // namespace stria::test
