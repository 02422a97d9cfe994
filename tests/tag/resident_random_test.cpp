// Messages between workers that share memory, under the seeded scheduler: payloads that are read while they
// grow and stay where they arrived, memory that both map, gets and puts by both sides, near and far caches.
// Whatever scheme takes a message, its bytes arrive; and each scheme takes some.
#include <algorithm>
#include <deque>
#include <random>

#include "tests/rounds.hpp"
#include "tests/tag/allocated.hpp"
#include "tests/tag/random_world.hpp"

namespace stria::test {
namespace {

constexpr std::size_t kMost = 600000;

/// Blocks of so many bytes, each with a gap of its own length behind it; 0: contiguous.
struct Shape {
  std::size_t block = 0;
  std::size_t room(std::size_t bytes) const { return block == 0 ? bytes : 2 * bytes; }
  stria_layout_t* layout() const {
    if (block == 0) return nullptr;
    stria_layout_t *bytes = nullptr, *out = nullptr;
    EXPECT_EQ(stria_layout_bytes(static_cast<std::int64_t>(block), &bytes), STRIA_OK);
    EXPECT_EQ(stria_layout_resized(bytes, 0, static_cast<std::int64_t>(2 * block), &out), STRIA_OK);
    stria_layout_free(bytes);
    return out;
  }
  std::uint64_t count(std::size_t bytes) const { return block == 0 ? bytes : bytes / block; }
  std::size_t at(std::size_t i) const { return block == 0 ? i : i / block * 2 * block + i % block; }
};

struct Message {
  Message(stria_context_t* context, std::mt19937& random)
      : from(shape(random)),
        to(shape(random)),
        bytes(length(random)),
        source(context, from.room(bytes), random() % 2 == 0),
        sink(context, to.room(bytes), random() % 2 == 0),
        wanted(pattern(bytes, static_cast<unsigned>(random()))),
        from_layout(from.layout()),
        to_layout(to.layout()) {
    for (std::size_t i = 0; i < bytes; ++i) source.data()[from.at(i)] = wanted[i];
  }
  ~Message() {
    stria_layout_free(from_layout);
    stria_layout_free(to_layout);
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  static Shape shape(std::mt19937& random) {
    constexpr std::size_t kBlocks[] = {0, 0, 8, 64, 1024};
    return {kBlocks[random() % std::size(kBlocks)]};
  }
  /// A multiple of each block.
  static std::size_t length(std::mt19937& random) {
    const std::size_t most = random() % 2 == 0 ? 20000 : kMost;
    return 1024 * (1 + random() % (most / 1024));
  }
  bool is_right() {
    for (std::size_t i = 0; i < bytes; ++i)
      if (sink.data()[to.at(i)] != wanted[i]) return false;
    return true;
  }

  Shape from, to;
  std::size_t bytes;
  Allocated source, sink;
  std::vector<unsigned char> wanted;
  stria_layout_t *from_layout, *to_layout;
  Op send, recv;
  unsigned sender = 0;
};

fake::FabricOptions resident(unsigned seed, std::mt19937& random) {
  fake::FabricOptions options = random_fabric(seed, random);
  options.maps = random() % 4 != 0;
  options.keeps = random() % 2 != 0;
  options.grows_percent = random() % 3 * 50;
  options.far_percent = random() % 3 * 50;
  options.far_changes_percent = random() % 2 * 3;
  options.get = random() % 4 != 0;
  options.put = random() % 4 != 0;
  options.queue = 4 + random() % 30;
  return options;
}

void run(unsigned seed, stria_counters_t& sum, fake::Statistics& did) {
  std::mt19937 random(seed);
  const fake::FabricOptions options = resident(seed, random);
  // Each scheme is to take some in few rounds, on every machine.
  constexpr const char* kSchemes[] = {"auto", "both", "auto", "pipeline"};
  World world(2, options,
              {{{"STRIA_EAGER_LIMIT", random() % 2 == 0 ? "16K" : "4K"}},
               {{"STRIA_RNDV_SCHEME", kSchemes[seed % 4]}},
               {{"STRIA_RNDV_SHARE", "on"}},
               {{"STRIA_RNDV_FLOWS", random() % 2 == 0 ? "on" : "off"}},
               {{"STRIA_RNDV_PATIENCE", random() % 2 == 0 ? "0" : "1000"}}});
  {
    std::deque<Message> messages;
    for (int i = 0; i < 10; ++i) {
      Message& m = messages.emplace_back(world.context(), random);
      m.sender = random() % 2;
      const auto tag = static_cast<std::uint64_t>(i);
      const auto do_send = [&] {
        world.send(m.send, m.sender, 1 - m.sender, tag, m.source.data(), m.from.count(m.bytes), 0,
                   random() % 5 == 0 ? STRIA_SEND_SYNCHRONOUS : 0, m.from_layout);
      };
      const auto do_recv = [&] {
        world.recv(m.recv, 1 - m.sender, m.sender, tag, 0, m.sink.data(), m.to.count(m.bytes), m.to_layout);
      };
      if (random() % 2 == 0) do_recv();
      do_send();
      for (unsigned steps = random() % 200; steps > 0; --steps) world.step();
      if (m.recv.answer == STRIA_ERR_INVALID) do_recv();
      ASSERT_GE(m.send.answer, 0);
      ASSERT_GE(m.recv.answer, 0);
    }
    const auto all_ended = [&] {
      return std::ranges::all_of(messages, [](Message& m) { return m.send.ended() && m.recv.ended(); });
    };
    ASSERT_TRUE(run_unevenly(world, random, all_ended));
    for (Message& m : messages) {
      EXPECT_EQ(m.send.info.status, STRIA_OK);
      EXPECT_EQ(m.recv.info.status, STRIA_OK);
      EXPECT_TRUE(m.is_right()) << m.bytes << " bytes, blocks of " << m.from.block << " and " << m.to.block;
    }
  }
  for (unsigned rank = 0; rank < 2; ++rank) {
    const stria_counters_t one = counters(world, rank);
    sum.received_mapped += one.received_mapped;
    sum.received_mapped_both += one.received_mapped_both;
    sum.received_get += one.received_get;
    sum.received_pipeline += one.received_pipeline;
  }
  const fake::Statistics of_seed = fake::statistics(world.fabric());
  did.grown += of_seed.grown;
  did.left += of_seed.left;
  did.distances += of_seed.distances;
  did.all_kept += of_seed.all_kept;
}

void leave_variables() {
  EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", "auto", "test"), STRIA_OK);
}

TEST(ResidentRandom, every_message_arrives_and_each_scheme_takes_some) {
  const auto only = static_cast<unsigned>(from_environment("STRIA_TEST_SEED", 0));
  stria_counters_t sum{};
  fake::Statistics did{};
  for (unsigned seed = only != 0 ? only : 1; seed <= (only != 0 ? only : rounds(200)) && !HasFailure();
       ++seed) {
    SCOPED_TRACE(testing::Message() << "STRIA_TEST_SEED=" << seed);
    run(seed, sum, did);
  }
  leave_variables();
  if (only != 0) return;
  EXPECT_GT(sum.received_mapped, 0u);
  EXPECT_GT(sum.received_mapped_both, 0u);
  EXPECT_GT(sum.received_get, 0u);
  EXPECT_GT(sum.received_pipeline, 0u);
  EXPECT_GT(did.grown, 0u);
  EXPECT_GT(did.left, 0u);
  EXPECT_GT(did.distances, 0u);
  EXPECT_GT(did.all_kept, 0u);
}

// A sender stands still in the middle of a message that a receive of any source has matched. Another's
// shorter message does not go there: a part of the first one lies behind where it would end.
TEST(ResidentRandom, a_receive_that_holds_a_part_of_a_message_waits_for_the_rest) {
  int left = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    fake::FabricOptions options = quick();
    options.seed = seed;
    options.delay = 3;
    options.grows_percent = 100;
    World world(3, options, {{{"STRIA_EAGER_LIMIT", "16K"}}});
    const std::vector<unsigned char> longer = pattern(8000, seed), shorter = pattern(100, seed + 1);
    std::vector<unsigned char> rooms[2] = {std::vector<unsigned char>(8000, 0xee), {}};
    rooms[1] = rooms[0];
    Op receives[2], sends[2];
    world.recv(receives[0], 2, World::kAny, 1, 0, rooms[0].data(), rooms[0].size());
    world.send(sends[0], 0, 2, 1, longer.data(), longer.size());
    for (int i = 0; i < 20 && fake::statistics(world.fabric()).left == 0; ++i)
      stria_worker_progress(world.worker(2));
    if (fake::statistics(world.fabric()).left == 0) continue;
    ++left;
    world.send(sends[1], 1, 2, 1, shorter.data(), shorter.size());
    world.recv(receives[1], 2, World::kAny, 1, 0, rooms[1].data(), rooms[1].size());
    ASSERT_TRUE(world.run_until([&] { return receives[0].ended() && receives[1].ended(); }));
    EXPECT_EQ(rooms[0], longer);
    EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), rooms[1].begin()));
    EXPECT_EQ(std::count(rooms[1].begin() + 100, rooms[1].end(), 0xee), 7900);
  }
  EXPECT_GT(left, 0);
}

}  // namespace
}  // namespace stria::test
