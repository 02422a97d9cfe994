// A provider's keys may have up to 64 bytes: whatever their length, messages, puts, gets and atomics go by
// them, and nothing of them stays behind. The fake looks at every byte of a key.
#include <algorithm>
#include <deque>
#include <numeric>

#include "tests/tag/allocated.hpp"
#include "tests/tag/atomic_region.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

class LongKeys : public testing::TestWithParam<std::uint32_t> {
 protected:
  static constexpr unsigned kMessages = 20;
  static constexpr std::uint64_t kBytes = 300000;

  static fake::FabricOptions with_keys() {
    fake::FabricOptions options = quick();
    options.seed = 64 + GetParam();
    options.delay = 3;
    options.async_percent = 50;
    options.accesses = 2;
    options.key_bytes = GetParam();
    options.maps = true;
    return options;
  }
  static std::vector<unsigned char> pattern(unsigned seed) {
    std::vector<unsigned char> out(kBytes);
    for (std::uint64_t i = 0; i < kBytes; ++i) out[i] = static_cast<unsigned char>(seed + i * 7 + i / 251);
    return out;
  }
  /// Sends messages, the first half of them before their receives are posted, and looks at every byte.
  void exchange(World& world, bool is_mapped) {
    std::deque<Allocated> sent, received;
    std::deque<Op> sends(kMessages), receives(kMessages);
    for (unsigned i = 0; i < kMessages; ++i) {
      sent.emplace_back(world.context(), kBytes, is_mapped);
      received.emplace_back(world.context(), kBytes, is_mapped);
      std::ranges::copy(pattern(i), sent.back().data());
    }
    const auto send = [&](unsigned i) {
      ASSERT_GE(world.send(sends[i], 0, 1, i, sent[i].data(), kBytes), 0);
    };
    const auto recv = [&](unsigned i) {
      ASSERT_GE(world.recv(receives[i], 1, 0, i, 0, received[i].data(), kBytes), 0);
    };
    for (unsigned i = 0; i < kMessages / 2; ++i) send(i);
    for (int i = 0; i < 50; ++i) world.step();
    for (unsigned i = kMessages; i-- > 0;) recv(i);
    for (unsigned i = kMessages / 2; i < kMessages; ++i) send(i);
    for (unsigned i = 0; i < kMessages; ++i) {
      ASSERT_TRUE(world.run_until([&] { return sends[i].ended() && receives[i].ended(); })) << i;
      ASSERT_EQ(receives[i].info.status, STRIA_OK);
      ASSERT_TRUE(std::ranges::equal(sent[i].bytes(), received[i].bytes())) << i;
    }
    for (unsigned rank : {0u, 1u})
      EXPECT_EQ(fake::valid_keys(world.fabric(), stria_worker_id(world.worker(rank))), 0u);
  }
};

TEST_P(LongKeys, bring_messages_by_a_get) {
  World world(2, with_keys(), {{"STRIA_RNDV_SCHEME", "get"}});
  exchange(world, false);
  EXPECT_EQ(counters(world, 1).received_get, kMessages);
  EXPECT_EQ(counters(world, 1).received_pipeline, 0u);
}

TEST_P(LongKeys, bring_messages_that_both_sides_copy) {
  World world(2, with_keys(), {{"STRIA_RNDV_SCHEME", "both"}});
  exchange(world, true);
  EXPECT_EQ(counters(world, 1).received_mapped_both, kMessages);
}

TEST_P(LongKeys, of_a_sender_that_dies_end_with_their_operations) {
  std::deque<Op> sends(kMessages), receives(kMessages);
  World world(2, with_keys(), {{"STRIA_RNDV_SCHEME", "both"}});
  Allocated data(world.context(), kBytes, true), room(world.context(), kBytes, true);
  for (unsigned i = 0; i < kMessages; ++i) {
    world.send(sends[i], 0, 1, i, data.data(), kBytes);
    world.recv(receives[i], 1, 0, i, 0, room.data(), kBytes);
  }
  for (int i = 0; i < 10; ++i) world.step();
  world.kill(0, fake::Loss::random);
  for (Op& op : receives) ASSERT_TRUE(world.run_until([&] { return op.ended(); }));
  EXPECT_EQ(fake::valid_keys(world.fabric(), stria_worker_id(world.worker(1))), 0u);
  for (const unsigned rank : {0u, 1u}) world.close(rank);  // ends the dead worker's sends
}

TEST_P(LongKeys, serve_puts_gets_and_atomics_also_those_that_wait) {
  constexpr unsigned kWords = 40;
  World world(2, with_keys(), {{"STRIA_RNDV_SCHEME", "auto"}});
  std::vector<std::uint64_t> there(kWords), here(kWords), back(kWords);
  std::iota(here.begin(), here.end(), std::uint64_t{1});
  const Shared region(world.worker(1), there.data(), 8 * kWords, kMoves | kAtomic);
  stria_key_t* key = region.key_for(world.endpoint(0, 1));
  std::deque<Op> puts(kWords), gets(kWords);
  std::deque<AtomicOp> adds(kWords);
  const auto rma = [&](std::vector<std::uint64_t>& local, std::deque<Op>& ops, unsigned i) {
    return stria_rma_t{&local[i], nullptr, 8, key, 8 * i, &Op::on_done, &ops[i]};
  };
  for (unsigned i = 0; i < kWords; ++i) {
    const stria_rma_t put = rma(here, puts, i);
    puts[i].answer = stria_put(world.endpoint(0, 1), &put, &puts[i].request);
  }
  for (Op& op : puts) ASSERT_TRUE(world.run_until([&] { return op.ended(); }));
  for (unsigned i = 0; i < kWords; ++i) ASSERT_GE(adds[i].add(world.endpoint(0, 1), key, 1000, 8 * i), 0);
  for (AtomicOp& op : adds) ASSERT_TRUE(world.run_until([&] { return op.ended(); }));
  for (unsigned i = 0; i < kWords; ++i) {
    const stria_rma_t get = rma(back, gets, i);
    gets[i].answer = stria_get(world.endpoint(0, 1), &get, &gets[i].request);
  }
  stria_key_close(key);
  for (unsigned i = 0; i < kWords; ++i) {
    ASSERT_TRUE(world.run_until([&] { return gets[i].ended(); }));
    EXPECT_EQ(adds[i].before, i + 1);
    EXPECT_EQ(back[i], i + 1001);
  }
  EXPECT_EQ(counters(world, 0).fallbacks, 0u) << "operations that the target's engine was asked for";
  EXPECT_EQ(fake::statistics(world.fabric()).atomics, kWords) << "performed by the adapter";
}

INSTANTIATE_TEST_SUITE_P(Bytes, LongKeys, testing::Values(16u, 18u, 19u, 36u, 37u, 63u, 64u));

}  // namespace
}  // namespace stria::test
