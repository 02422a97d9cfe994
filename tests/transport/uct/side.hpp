// A worker of the library as programs load it, with the uct provider's devices that a list names, and long
// messages between two of them, of which every byte is compared.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "stria/stria.h"

namespace stria::uct {

class Side {
 public:
  explicit Side(const std::string& transports) {
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", "uct", "test"), STRIA_OK);
    EXPECT_EQ(stria_config_set("STRIA_UCT_TRANSPORT", transports.c_str(), "test"), STRIA_OK)
        << stria_last_error();
    // Both sides are closed by one thread, one after the other: no device waits for the other side's
    // farewell.
    EXPECT_EQ(stria_config_set("STRIA_CLOSE_TIMEOUT_MS", "5", "test"), STRIA_OK);
    EXPECT_EQ(stria_context_open(nullptr, &context_), STRIA_OK) << stria_last_error();
    opened = stria_worker_open(context_, nullptr, &worker);
    if (opened != STRIA_OK) return;
    address.resize(STRIA_ADDRESS_MAX);
    std::size_t bytes = address.size();
    EXPECT_EQ(stria_worker_address(worker, address.data(), &bytes), STRIA_OK);
    address.resize(bytes);
  }
  ~Side() {
    stria_worker_close(worker);
    stria_context_close(context_);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  void open_endpoint(const std::vector<std::byte>& other) {
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = other.data();
    params.address_bytes = other.size();
    EXPECT_EQ(stria_endpoint_open(worker, &params, &peer), STRIA_OK) << stria_last_error();
  }
  stria_counters_t counters() const {
    stria_counters_t counters{};
    counters.size = sizeof counters;
    EXPECT_EQ(stria_worker_counters(worker, &counters), STRIA_OK);
    return counters;
  }
  /// Pieces of long messages that came by another link than the main one.
  std::uint64_t rail_pieces() const { return counters().rail_pieces; }
  std::string path() const {
    stria_endpoint_state_t state{};
    state.size = sizeof state;
    EXPECT_EQ(stria_endpoint_info(peer, &state), STRIA_OK);
    return state.path;
  }

  stria_status_t opened;
  stria_worker_t* worker = nullptr;
  stria_endpoint_t* peer = nullptr;
  std::vector<std::byte> address;

 private:
  stria_context_t* context_ = nullptr;
};

inline void connect(Side& a, Side& b) {
  a.open_endpoint(b.address);
  b.open_endpoint(a.address);
}

/// A message under way. Its receiver has it in one piece, or in blocks with gaps between them as long.
class Message {
 public:
  Message(const Side& from, const Side& to, std::size_t bytes, std::size_t block = 0)
      : from_(from), to_(to), sent_(bytes), room_(block == 0 ? bytes : 2 * bytes, kGap), block_(block) {
    std::mt19937_64 random(bytes + block);
    for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
      const std::uint64_t word = random();
      std::memcpy(&sent_[at], &word, std::min(sizeof word, bytes - at));
    }
    stria_recv_t recv{};
    recv.base = room_.data();
    recv.count = bytes;
    recv.match = {to.peer, 1, 0};
    if (block != 0) {
      EXPECT_EQ(stria_layout_bytes(static_cast<std::int64_t>(block), &unit_), STRIA_OK);
      EXPECT_EQ(stria_layout_resized(unit_, 0, static_cast<std::int64_t>(2 * block), &layout_), STRIA_OK);
      recv.layout = layout_;
      recv.count = bytes / block;
    }
    answers_[0] = stria_recv(to.worker, &recv, &requests_[0]);
    stria_send_t send{};
    send.base = sent_.data();
    send.count = bytes;
    send.tag = 1;
    answers_[1] = stria_send(from.peer, &send, &requests_[1]);
    EXPECT_GE(answers_[1], STRIA_OK) << stria_last_error();
  }
  ~Message() {
    stria_layout_free(layout_);
    stria_layout_free(unit_);
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  stria_status_t received() { return outcome(0); }
  stria_status_t sent() { return outcome(1); }
  bool has_ended() { return received() != STRIA_IN_PROGRESS && sent() != STRIA_IN_PROGRESS; }
  void progress() const {
    stria_worker_progress(from_.worker);
    stria_worker_progress(to_.worker);
  }
  /// Until `done`, or for a minute. Returns done().
  template <class Done>
  bool progress_until(const Done& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done() && std::chrono::steady_clock::now() < end) progress();
    return done();
  }
  bool finish() {
    return progress_until([&] { return has_ended(); });
  }
  void expect_right() {
    EXPECT_EQ(received(), STRIA_OK) << sent_.size() << " bytes";
    EXPECT_EQ(sent(), STRIA_OK) << sent_.size() << " bytes";
    const std::size_t run = block_ == 0 ? sent_.size() : block_;
    const std::vector<unsigned char> gap(block_, kGap);
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < sent_.size(); at += run) {
      const unsigned char* const here = &room_[block_ == 0 ? at : 2 * at];
      wrong += std::memcmp(here, &sent_[at], run) != 0 ? 1 : 0;
      wrong += block_ != 0 && std::memcmp(here + run, gap.data(), run) != 0 ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0u) << "runs of " << run << " bytes of " << sent_.size() << ", or gaps behind them";
  }

 private:
  static constexpr unsigned char kGap = 0xa5;
  stria_status_t outcome(int which) {
    return answers_[which] == STRIA_IN_PROGRESS ? stria_request_test(&requests_[which], nullptr)
                                                : answers_[which];
  }
  const Side &from_, &to_;
  std::vector<unsigned char> sent_, room_;
  std::size_t block_;
  stria_layout_t *unit_ = nullptr, *layout_ = nullptr;
  stria_request_t requests_[2];
  stria_status_t answers_[2];
};

/// A message arrives whole.
inline void transfer(const Side& from, const Side& to, std::size_t bytes, std::size_t block = 0) {
  Message message(from, to, bytes, block);
  ASSERT_TRUE(message.finish()) << bytes << " bytes do not arrive";
  message.expect_right();
}

/// The receiver has a rail to the sender that brings pieces.
inline void bring_up_rail(const Side& from, const Side& to) {
  const std::uint64_t before = to.rail_pieces();
  for (int tries = 0; tries < 200 && to.rail_pieces() == before; ++tries)
    ASSERT_NO_FATAL_FAILURE(transfer(from, to, std::size_t{4} << 20));
  ASSERT_GT(to.rail_pieces(), before) << "no rail comes up";
}

}  // namespace stria::uct
