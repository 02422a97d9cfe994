// Workers with several devices: long messages go by all links of a peer, whatever their speed and layout, and
// arrive whole whichever rail is cut when. The fabric draws its choices from the seed, and the two ends of a
// cut link hear of that at moments of their own.
#include <chrono>
#include <deque>
#include <random>
#include <thread>

#include "tests/rounds.hpp"
#include "tests/tag/side.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

constexpr std::size_t kRails = 16384;  // messages so long are divided

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

class Pair {
 public:
  explicit Pair(unsigned seed, fake::FabricOptions options, const char* piece = "4K")
      : random_(seed), world_(2, with_seed(options, seed), config(piece)) {}
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
  std::uint64_t rail_pieces(unsigned rank) {
    stria_counters_t counters{};
    counters.size = sizeof counters;
    EXPECT_EQ(stria_worker_counters(world_.worker(rank), &counters), STRIA_OK);
    return counters.rail_pieces;
  }
  std::uint64_t rail_pieces() { return rail_pieces(0) + rail_pieces(1); }
  fake::Statistics statistics() { return fake::statistics(world_.fabric()); }
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
  World& world() { return world_; }

 private:
  static fake::FabricOptions with_seed(fake::FabricOptions options, unsigned seed) {
    options.seed = seed;
    return options;
  }
  static std::vector<std::array<std::string, 2>> config(const char* piece) {
    return {{{"STRIA_RNDV_SCHEME", "pipeline"}},
            {{"STRIA_RNDV_RAILS", "16K"}},
            {{"STRIA_RNDV_PIECE", piece}},
            {{"STRIA_EAGER_LIMIT", "4K"}},
            {{"STRIA_RNDV_FRAGMENT", "2K"}}};
  }
  std::mt19937 random_;
  World world_;
  std::deque<Message> messages_;
};

fake::FabricOptions random_options(std::mt19937& random) {
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

class RailsOfWorkers : public testing::Test {
 protected:
  ~RailsOfWorkers() override {
    EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", "auto", "test"), STRIA_OK);
    EXPECT_EQ(stria_config_set("STRIA_RNDV_RAILS", "1M", "test"), STRIA_OK);
    EXPECT_EQ(stria_config_set("STRIA_RNDV_PIECE", "512K", "test"), STRIA_OK);
  }
  template <class F>
  static void for_seeds(unsigned count, const F& f) {
    const auto only = static_cast<unsigned>(from_environment("STRIA_TEST_SEED", 0));
    for (unsigned seed = only != 0 ? only : 1; seed <= (only != 0 ? only : rounds(count)) && !HasFailure();
         ++seed) {
      SCOPED_TRACE(testing::Message() << "STRIA_TEST_SEED=" << seed);
      std::mt19937 random(seed);
      f(seed, random);
    }
  }
};

TEST_F(RailsOfWorkers, bring_messages_of_all_lengths_and_layouts) {
  std::uint64_t pieces = 0, placed = 0, zcopy_sends = 0;
  for_seeds(150, [&](unsigned seed, std::mt19937& random) {
    Pair pair(seed, random_options(random));
    for (unsigned i = 2 + random() % 4; i > 0; --i) pair.start_random();
    EXPECT_TRUE(pair.run());
    pair.expect_all_well();
    pieces += pair.rail_pieces();
    placed += pair.statistics().placed;
    zcopy_sends += pair.statistics().zcopy_sends;
  });
  EXPECT_GT(pieces, 0u);
  EXPECT_GT(placed, 0u);
  EXPECT_GT(zcopy_sends, 0u);
}

TEST_F(RailsOfWorkers, that_are_cut_at_any_moment_take_nothing_with_them) {
  std::uint64_t pieces = 0;
  for_seeds(400, [&](unsigned seed, std::mt19937& random) {
    const fake::FabricOptions options = random_options(random);
    Pair pair(seed, options);
    for (unsigned i = 2 + random() % 3; i > 0; --i) pair.start_random();
    const bool all = random() % 3 == 0;
    for (std::uint32_t device = 1; device < (all ? options.devices : 2); ++device) {
      for (unsigned steps = random() % 500; steps > 0; --steps) pair.step();
      pair.cut(device, random() % 2 != 0 ? fake::Loss::random : fake::Loss::none);
      if (random() % 2 != 0) pair.start_random();
    }
    EXPECT_TRUE(pair.run());
    pair.start_random();
    EXPECT_TRUE(pair.run()) << "with what is left";
    pair.expect_all_well();
    pieces += pair.rail_pieces();
  });
  EXPECT_GT(pieces, 0u);
}

TEST_F(RailsOfWorkers, do_not_keep_a_peer_alive_whose_main_link_is_cut) {
  unsigned failed = 0;
  for_seeds(200, [&](unsigned seed, std::mt19937& random) {
    Pair pair(seed, random_options(random));
    std::vector<Message*> messages;
    for (unsigned i = 2 + random() % 3; i > 0; --i) messages.push_back(&pair.start_random());
    for (unsigned steps = random() % 300; steps > 0; --steps) pair.step();
    pair.cut(0, fake::Loss::random);
    EXPECT_TRUE(pair.run()) << "everything that names the peer ends";
    for (Message* one : messages) failed += one->recv.info.status != STRIA_OK ? 1 : 0;
  });
  EXPECT_GT(failed, 0u);
}

TEST_F(RailsOfWorkers, leave_memory_alone_when_a_worker_dies_or_closes) {
  for_seeds(200, [&](unsigned seed, std::mt19937& random) {
    Pair pair(seed, random_options(random));
    for (unsigned i = 2 + random() % 3; i > 0; --i) pair.start_random();
    for (unsigned steps = random() % 500; steps > 0; --steps) pair.step();
    if (random() % 2 != 0) {
      pair.world().kill(random() % 2, random() % 2 != 0 ? fake::Loss::random : fake::Loss::none);
      for (unsigned steps = random() % 1000; steps > 0; --steps) pair.step();
    }
  });
}

TEST_F(RailsOfWorkers, bring_fewer_pieces_when_they_are_slow) {
  std::uint64_t pieces[2] = {};
  for (const unsigned slow : {0u, 1u}) {
    for_seeds(5, [&](unsigned seed, std::mt19937&) {
      fake::FabricOptions options;
      options.devices = 2;
      if (slow != 0) options.idle_percent[1] = 95;
      Pair pair(seed, options);
      for (int i = 0; i < 4; ++i) pair.start(1 << 20);
      EXPECT_TRUE(pair.run());
      pair.expect_all_well();
      pieces[slow] += pair.rail_pieces();
    });
  }
  EXPECT_GT(pieces[1], 0u);
  EXPECT_LT(2 * pieces[1], pieces[0]);
}

TEST_F(RailsOfWorkers, are_not_used_by_short_messages_nor_where_there_is_one_device) {
  for (const std::uint32_t devices : {1u, 2u}) {
    fake::FabricOptions options;
    options.devices = devices;
    Pair pair(1, options);
    pair.start(devices == 1 ? 200000 : kRails - 1);
    EXPECT_TRUE(pair.run());
    pair.expect_all_well();
    EXPECT_EQ(pair.rail_pieces(), 0u);
  }
}

// The receiver has no endpoint, so it cannot connect to the sender: its first request makes the sender
// connect.
TEST_F(RailsOfWorkers, are_connected_by_the_sender_when_it_alone_has_an_address) {
  fake::FabricOptions options;
  options.devices = 2;
  const fake::UseFabric use(fake::make_fabric(options));
  EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", "fake", "test"), STRIA_OK);
  EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", "pipeline", "test"), STRIA_OK);
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

// The receiver waits for a rail. A check for dead links, which arming makes, finds the rail dead, and now the
// main link is to be asked: a worker that slept would ask it a whole interval later.
TEST_F(RailsOfWorkers, whose_death_is_seen_while_a_worker_arms_keep_it_awake) {
  ASSERT_EQ(stria_config_set("STRIA_LIVENESS_MS", "10", "test"), STRIA_OK);
  fake::FabricOptions options;
  options.devices = 2;
  options.delay = 0;
  options.idle_percent[1] = 99;
  options.death_seen_by_check_only = true;
  Pair pair(1, options);
  Message& one = pair.start(200000);
  stria_worker_t* const receiver = pair.world().worker(1);
  for (int i = 0; i < 100; ++i) pair.step();
  for (int i = 0; i < 100000 && stria_worker_arm(receiver) != STRIA_OK; ++i) pair.step();
  ASSERT_FALSE(one.recv.ended()) << "it waits for the slow rail";
  fake::cut_link(pair.world().fabric(), stria_worker_id(receiver), stria_worker_id(pair.world().worker(0)), 1,
                 fake::Loss::none);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(stria_worker_arm(receiver), STRIA_ERR_NO_RESOURCE);
  EXPECT_TRUE(pair.run());
  pair.expect_all_well();
  EXPECT_EQ(stria_config_set("STRIA_LIVENESS_MS", "500", "test"), STRIA_OK);
}

}  // namespace
}  // namespace stria::test
