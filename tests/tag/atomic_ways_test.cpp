// Several ways for the atomics of one region: an adapter, the engine of the owner, and CPUs in shared memory.
// Only one of them performs.
#include <algorithm>
#include <deque>
#include <functional>

#include "tests/tag/atomic_region.hpp"
#include "tests/tag/opened.hpp"
#include "tests/tag/shm_team.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

// The owner has an adapter, and shared memory beside it: then the adapter performs nothing.
void add_by_two_devices(unsigned access) {
  const bool with_cpu = (access & STRIA_ACCESS_ATOMIC_WITH_CPU) != 0;
  const auto fabric = fake::make_fabric({.seed = 3, .delay = 3, .async_percent = 60});
  const fake::UseFabric use(fabric);
  const Opened owner("fake,shm"), by_fake("fake"), by_shm("shm"), both("shm,fake");
  alignas(16) std::uint64_t words[2] = {};
  const Shared region(owner.worker, words, sizeof words, access | kMoves);
  const Opened* peers[] = {&by_fake, &by_shm, &both, &owner};
  std::vector<stria_key_t*> keys;
  std::vector<stria_endpoint_t*> endpoints;
  for (const Opened* peer : peers) {
    endpoints.push_back(peer->to(owner));
    keys.push_back(region.key_for(endpoints.back()));
  }
  std::deque<AtomicOp> ops;
  constexpr unsigned kEach = 100;
  for (unsigned i = 0; i < kEach; ++i) {
    for (std::size_t p = 0; p < keys.size(); ++p)
      ASSERT_GE(ops.emplace_back().add(endpoints[p], keys[p]), 0) << stria_last_error();
    if (with_cpu) __atomic_fetch_add(&words[0], 1, __ATOMIC_RELAXED);
    for (const Opened* peer : peers) stria_worker_progress(peer->worker);
  }
  const auto over = [&] {
    return std::all_of(ops.begin(), ops.end(), [](AtomicOp& op) { return op.ended(); });
  };
  for (int i = 0; i < 100000 && !over(); ++i)
    for (const Opened* peer : peers) stria_worker_progress(peer->worker);
  ASSERT_TRUE(over());
  for (AtomicOp& op : ops) EXPECT_EQ(op.outcome(), STRIA_OK);
  EXPECT_EQ(words[0], kEach * (keys.size() + (with_cpu ? 1 : 0)));
  EXPECT_EQ(fake::statistics(*fabric).atomics, 0u) << "the adapter knows nothing of the others";
  for (stria_key_t* key : keys) stria_key_close(key);
}
TEST(AtomicWays, of_two_devices_add_up) {
  add_by_two_devices(kAtomic);
}
TEST(AtomicWays, of_two_devices_add_up_with_the_owners_cpu) {
  add_by_two_devices(kWithCpu);
}

// Where the memory is this process's, or mapped, nobody has to progress for the answer.
TEST(AtomicWays, by_shared_memory_are_over_at_once) {
  for (const char* attach : {"auto", "off"}) {
    ASSERT_EQ(stria_config_set("STRIA_SHM_CMA", attach, "test"), STRIA_OK);
    ShmTeam team;
    const unsigned owner = team.join({}), peer = team.join({});
    void* mapped = nullptr;
    ASSERT_EQ(stria_mem_alloc(team.context(owner), 4096, &mapped), STRIA_OK);
    alignas(16) std::uint64_t plain[4] = {};
    Shared a(team.worker(owner), mapped, 4096, kAtomic), b(team.worker(owner), plain, sizeof plain, kAtomic);
    stria_endpoint_t* const to = team.endpoint(peer, owner);
    stria_key_t *key_a = a.key_for(to), *key_b = b.key_for(to);
    AtomicOp op;
    EXPECT_EQ(op.add(to, key_a, 5, 8), STRIA_OK) << attach;
    EXPECT_EQ(op.swap(to, key_a, 5, 6, 8), STRIA_OK);
    EXPECT_EQ(op.before, 5u);
    EXPECT_EQ(static_cast<std::uint64_t*>(mapped)[1], 6u);
    op.add(to, key_b, 5, 8);
    EXPECT_EQ(op.answer, *attach == 'a' ? STRIA_OK : STRIA_IN_PROGRESS) << "of memory that is not mapped";
    for (int i = 0; i < 100 && !op.ended(); ++i) team.progress(owner), team.progress(peer);
    EXPECT_EQ(op.outcome(), STRIA_OK);
    EXPECT_EQ(plain[1], 5u);
    a.end();
    EXPECT_EQ(op.add(to, key_a), STRIA_ERR_ACCESS) << "a stale key";
    stria_key_close(key_a);
    stria_key_close(key_b);
    b.end();
    EXPECT_EQ(stria_mem_free(team.context(owner), mapped), STRIA_OK);
  }
  ASSERT_EQ(stria_config_set("STRIA_SHM_CMA", "auto", "test"), STRIA_OK);
}

TEST(AtomicRights, are_checked_when_a_region_is_registered) {
  World world(1, quick());
  std::uint64_t word = 0;
  stria_region_t* region = nullptr;
  EXPECT_EQ(stria_region_register(world.worker(0), &word, nullptr, 8, 16, &region), STRIA_ERR_INVALID);
  EXPECT_EQ(stria_region_register(world.worker(0), &word, nullptr, 8, STRIA_ACCESS_ATOMIC_WITH_CPU, &region),
            STRIA_ERR_INVALID);
  EXPECT_NE(std::string(stria_last_error()).find("REMOTE_ATOMIC"), std::string::npos) << stria_last_error();
}

// A region whose atomics are an adapter's, and a link that has none any more: never done by other means.
TEST(AtomicRights, of_an_adapter_are_not_taken_by_anybody_else) {
  World world(2, quick());
  alignas(8) std::uint64_t words[2] = {};
  const Shared region(world.worker(0), words, sizeof words, kAtomic);
  stria_key_t* key = region.key_for(world.endpoint(1, 0));
  AtomicOp op;
  op.add(world.endpoint(1, 0), key);
  ASSERT_TRUE(world.run_until([&] { return op.ended(); }));
  EXPECT_EQ(words[0], 1u);
  fake::refuse_copies(world.fabric());
  EXPECT_EQ(op.add(world.endpoint(1, 0), key), STRIA_ERR_UNSUPPORTED);
  EXPECT_EQ(op.add(world.endpoint(1, 0), key), STRIA_ERR_UNSUPPORTED) << "the link says so by now";
  EXPECT_NE(std::string(stria_last_error()).find("adapter"), std::string::npos) << stria_last_error();
  for (int i = 0; i < 100; ++i) world.step();
  EXPECT_EQ(words[0], 1u);
  stria_key_close(key);
}

}  // namespace
}  // namespace stria::test
