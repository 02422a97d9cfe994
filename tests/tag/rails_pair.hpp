// Two workers that have several devices each and send each other long messages, of which every byte is
// checked, and the memory of both sides after its operation has ended. The fabric draws its choices from the
// seed.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/rounds.hpp"
#include "tests/tag/side.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {

inline constexpr std::size_t kRails = 16384;  // messages so long are divided

/// A message from worker 0 to worker 1 or back.
struct Message {
  Bytes data;
  Side source, room;
  Op send, recv;
  bool was_right = true;

  bool ended() { return send.ended() && recv.ended(); }
  static void on_sent(stria_request_t* request, const stria_info_t* info, void* user) {
    auto& self = *static_cast<Message*>(user);
    Op::on_done(request, info, &self.send);
    self.source.give_back();
  }
  static void on_received(stria_request_t* request, const stria_info_t* info, void* user) {
    auto& self = *static_cast<Message*>(user);
    Op::on_done(request, info, &self.recv);
    self.arrived();
  }
  void arrived() {
    const bool has_come = recv.info.status == STRIA_OK || recv.info.status == STRIA_ERR_TRUNCATED;
    for (std::size_t i = 0; has_come && i < room.bytes; ++i) was_right = was_right && room.at(i) == data[i];
    room.give_back();
  }
};

/// Two workers with several devices each.
class Pair {
 public:
  Pair(unsigned seed, fake::FabricOptions options, const char* scheme = "pipeline")
      : random_(seed), world_(2, with_seed(options, seed), config(scheme)) {}
  ~Pair() {
    for (unsigned rank = 0; rank < 2; ++rank) world_.close(rank);
    for (Message& one : messages_) {
      EXPECT_TRUE(one.ended());
      EXPECT_TRUE(one.was_right) << "a message arrived with wrong bytes";
      EXPECT_TRUE(one.source.is_untouched());
      EXPECT_TRUE(one.room.is_untouched()) << "written after its operation had ended";
    }
  }
  Message& start(std::size_t bytes, std::size_t source_block = 0, std::size_t room_block = 0,
                 unsigned from = 0) {
    Message& one = messages_.emplace_back();
    one.source.make(bytes, source_block);
    one.room.make(bytes, room_block);
    for (std::size_t i = 0; i < bytes; ++i)
      one.data.push_back(one.source.at(i) = static_cast<unsigned char>(random_()));
    const std::uint64_t tag = messages_.size();
    stria_send_t send{};
    send.base = one.source.memory.data();
    send.layout = one.source.layout;
    send.count = one.source.count();
    send.tag = tag;
    send.callback = &Message::on_sent;
    send.user = &one;
    one.send.answer = stria_send(world_.endpoint(from, 1 - from), &send, &one.send.request);
    if (one.send.answer != STRIA_IN_PROGRESS) one.source.give_back();
    stria_recv_t recv{};
    recv.base = one.room.memory.data();
    recv.layout = one.room.layout;
    recv.count = one.room.count();
    recv.match = {world_.endpoint(1 - from, from), tag, 0};
    recv.callback = &Message::on_received;
    recv.user = &one;
    one.recv.answer = stria_recv(world_.worker(1 - from), &recv, &one.recv.request);
    if (one.recv.answer == STRIA_OK) {
      stria_request_test(&one.recv.request, &one.recv.info);
      one.arrived();
    }
    return one;
  }
  Message& start_random() {
    constexpr std::size_t kBlocks[] = {0, 0, 16, 2048};
    const std::size_t source = kBlocks[below(4)], room = kBlocks[below(4)];
    const std::size_t unit = Side::kBlocks * 2048;
    const std::size_t near = kRails - 1 + below(3);
    const std::size_t bytes = source + room != 0 ? unit * (1 + below(24))
                              : below(3) == 0    ? near
                                                 : 4097 + below(200000);
    return start(bytes, source, room, below(2));
  }
  void step() { stria_worker_progress(world_.worker(below(2))); }
  bool run() {
    for (unsigned i = 0; i < 400000 && !all_ended(); ++i) step();
    return all_ended();
  }
  bool all_ended() {
    return std::all_of(messages_.begin(), messages_.end(), [](Message& one) { return one.ended(); });
  }
  void expect_all_well() {
    for (Message& one : messages_) {
      EXPECT_TRUE(one.send.answer == STRIA_OK || one.send.info.status == STRIA_OK);
      EXPECT_EQ(one.recv.info.status, STRIA_OK);
    }
  }
  void cut(std::uint32_t device, fake::Loss loss) {
    const std::uint64_t at[] = {stria_worker_id(world_.worker(0)), stria_worker_id(world_.worker(1))};
    const unsigned side = below(2);
    if (below(2) == 0)
      fake::cut_link(world_.fabric(), at[side], at[1 - side], device, loss);
    else
      fake::cut_device(world_.fabric(), at[side], device, loss);
  }
  stria_counters_t counters(unsigned rank) {
    stria_counters_t counters{};
    counters.size = sizeof counters;
    EXPECT_EQ(stria_worker_counters(world_.worker(rank), &counters), STRIA_OK);
    return counters;
  }
  std::uint64_t rail_pieces() { return counters(0).rail_pieces + counters(1).rail_pieces; }
  /// Of messages that were announced and are over, so none are to be left.
  std::size_t keys() {
    std::size_t keys = 0;
    for (unsigned rank = 0; rank < 2; ++rank)
      keys += fake::valid_keys(world_.fabric(), stria_worker_id(world_.worker(rank)));
    return keys;
  }
  fake::Statistics statistics() { return fake::statistics(world_.fabric()); }
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
  World& world() { return world_; }

 private:
  static fake::FabricOptions with_seed(fake::FabricOptions options, unsigned seed) {
    options.seed = seed;
    return options;
  }
  static std::vector<std::array<std::string, 2>> config(const char* scheme) {
    return {{{"STRIA_RNDV_SCHEME", scheme}},
            {{"STRIA_RNDV_RAILS", "16K"}},
            {{"STRIA_RNDV_PIECE", "4K"}},
            {{"STRIA_EAGER_LIMIT", "4K"}},
            {{"STRIA_RNDV_FRAGMENT", "2K"}}};
  }
  std::mt19937 random_;
  World world_;
  std::deque<Message> messages_;
};

inline fake::FabricOptions random_options(std::mt19937& random) {
  fake::FabricOptions options;
  options.devices = 2 + random() % 3;
  options.delay = random() % 12;
  options.queue = 3 + random() % 30;
  options.connect_delay = random() % 2 != 0 ? 0 : random() % 60;
  options.no_resource_percent = random() % 2 != 0 ? 0 : random() % 60;
  options.fragment_overtakes_percent = random() % 2 != 0 ? 0 : random() % 101;
  options.zcopy = random() % 5 != 0;
  options.zcopy_max = 2048 + random() % 60000;
  options.zcopy_copies_percent = random() % 2 != 0 ? 0 : random() % 101;
  options.places_percent = random() % 5 == 0 ? 0 : random() % 101;
  for (auto& idle : options.idle_percent) idle = random() % 2 != 0 ? 0 : random() % 80;
  return options;
}

/// Calls f(seed, random) for `count` seeds, or for the one that STRIA_TEST_SEED names.
template <class F>
void for_seeds(unsigned count, const F& f) {
  const auto only = static_cast<unsigned>(from_environment("STRIA_TEST_SEED", 0));
  for (unsigned seed = only != 0 ? only : 1;
       seed <= (only != 0 ? only : rounds(count)) && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "STRIA_TEST_SEED=" << seed);
    std::mt19937 random(seed);
    f(seed, random);
  }
}

/// Two messages of a sender whose receiver has no endpoint, so cannot connect to it: what it answers to the
/// first makes the sender connect.
inline void expect_rails_from_the_second_message_on(const char* scheme) {
  fake::FabricOptions options;
  options.devices = 2;
  const fake::UseFabric use(fake::make_fabric(options));
  EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", "fake", "test"), STRIA_OK);
  EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", scheme, "test"), STRIA_OK);
  EXPECT_EQ(stria_config_set("STRIA_RNDV_RAILS", "16K", "test"), STRIA_OK);
  EXPECT_EQ(stria_config_set("STRIA_RNDV_PIECE", "4K", "test"), STRIA_OK);
  stria_context_t* context = nullptr;
  ASSERT_EQ(stria_context_open(nullptr, &context), STRIA_OK);
  stria_worker_t *from = nullptr, *to = nullptr;
  ASSERT_EQ(stria_worker_open(context, nullptr, &from), STRIA_OK);
  ASSERT_EQ(stria_worker_open(context, nullptr, &to), STRIA_OK);
  std::array<char, STRIA_ADDRESS_MAX> address;
  std::size_t bytes = address.size();
  ASSERT_EQ(stria_worker_address(to, address.data(), &bytes), STRIA_OK);
  stria_endpoint_params_t params{};
  params.size = sizeof(params);
  params.address = address.data();
  params.address_bytes = bytes;
  stria_endpoint_t* endpoint = nullptr;
  ASSERT_EQ(stria_endpoint_open(from, &params, &endpoint), STRIA_OK);
  for (const bool is_first : {true, false}) {
    const Bytes source(100000, is_first ? 1 : 2);
    Bytes room(source.size());
    Op sent, received;
    stria_send_t send{};
    send.base = source.data();
    send.count = source.size();
    send.callback = &Op::on_done;
    send.user = &sent;
    ASSERT_EQ(stria_send(endpoint, &send, &sent.request), STRIA_IN_PROGRESS);
    stria_recv_t recv{};
    recv.base = room.data();
    recv.count = room.size();
    recv.callback = &Op::on_done;
    recv.user = &received;
    ASSERT_EQ(stria_recv(to, &recv, &received.request), STRIA_IN_PROGRESS);
    for (int i = 0; i < 10000; ++i) {
      stria_worker_progress(from);
      stria_worker_progress(to);
    }
    ASSERT_EQ(sent.callbacks + received.callbacks, 2);
    EXPECT_EQ(room, source);
    stria_counters_t counters{};
    counters.size = sizeof counters;
    ASSERT_EQ(stria_worker_counters(to, &counters), STRIA_OK);
    EXPECT_EQ(counters.rail_pieces == 0, is_first);
  }
  stria_worker_close(from);
  stria_worker_close(to);
  stria_context_close(context);
}

/// Gives the settings of a Pair back their defaults.
class WithRails : public testing::Test {
 protected:
  ~WithRails() override {
    for (const auto& [name, value] :
         {std::pair{"STRIA_RNDV_SCHEME", "auto"}, {"STRIA_RNDV_RAILS", "1M"}, {"STRIA_RNDV_PIECE", "512K"}})
      EXPECT_EQ(stria_config_set(name, value, "test"), STRIA_OK);
  }
};

}  // namespace stria::test
