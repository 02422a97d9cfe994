// The cache of registrations: what is found again, what is not, and what it keeps.
#include <sys/mman.h>

#include <cstring>

#include "tests/transport/verbs/told.hpp"
#include "tests/transport/verbs/world.hpp"
#include "transport/verbs/adapter.hpp"
#include "transport/verbs/regions.hpp"

namespace stria::verbs::test {
namespace {

constexpr std::size_t kBytes = 16 * 4096;

class Cache : public Told {
 protected:
  void open(std::uint64_t keep_bytes) {
    adapter = *Adapter::open({});
    regions = std::make_unique<Regions>();
    regions->open({.pd = adapter->pd,
                   .may_bind = adapter->traits.has_windows(),
                   .sink_rights = 0,
                   .keep_bytes = keep_bytes,
                   .watch = GetParam()},
                  transport::services(), counters);
    if (get_watch() == nullptr) GTEST_SKIP() << "this system allows no userfaultfd";
  }
  static std::byte* map(std::size_t bytes = kBytes) {
    void* made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(made, 1, bytes);
    return static_cast<std::byte*>(made);
  }
  void use(const std::byte* memory, std::size_t bytes) {
    Region* const region = regions->acquire(memory, bytes, Regions::Use::source);
    ASSERT_NE(region, nullptr);
    regions->release(region);
  }
  std::unique_ptr<Adapter> adapter;
  Counters counters;
  std::unique_ptr<Regions> regions;
};

TEST_P(Cache, memory_is_registered_once_and_found_again_also_by_its_parts) {
  open(1 << 30);
  if (IsSkipped()) return;
  std::byte* const memory = map();
  for (int i = 0; i < 10; ++i) use(memory, kBytes);
  use(memory + 100, 5000);
  EXPECT_EQ(counters.registrations, 1u);
  EXPECT_EQ(counters.registrations_met, 10u);
  ::munmap(memory, kBytes);
}

TEST_P(Cache, memory_that_was_taken_away_is_not_found) {
  open(1 << 30);
  if (IsSkipped()) return;
  std::byte* const memory = map();
  for (std::uint64_t i = 0; i < 20; ++i) {
    use(memory, kBytes);
    EXPECT_EQ(counters.registrations, i + 1);
    tell(memory, kBytes);
    ASSERT_EQ(::mmap(memory, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              memory);
  }
  EXPECT_EQ(counters.registrations_gone, 19u);
  ::munmap(memory, kBytes);
}

TEST_P(Cache, one_in_use_stays_with_its_user_and_is_not_given_to_others) {
  open(1 << 30);
  if (IsSkipped()) return;
  std::byte* const memory = map();
  Region* const old = regions->acquire(memory, kBytes, Regions::Use::source);
  ASSERT_NE(old, nullptr);
  tell(memory, kBytes);
  ASSERT_EQ(::madvise(memory, kBytes, MADV_DONTNEED), 0);
  Region* const fresh = regions->acquire(memory, kBytes, Regions::Use::source);
  ASSERT_NE(fresh, nullptr);
  EXPECT_NE(fresh, old);
  regions->release(old);
  regions->release(fresh);
  ::munmap(memory, kBytes);
}

TEST_P(Cache, keeps_no_more_than_it_was_told) {
  open(3 * kBytes);
  if (IsSkipped()) return;
  std::byte* const memory = map(8 * 2 * kBytes);
  for (std::size_t i = 0; i < 8; ++i) use(memory + 2 * i * kBytes, kBytes);
  EXPECT_EQ(counters.registrations, 8u);
  EXPECT_EQ(counters.registrations_evicted, 5u);
  use(memory + 2 * 7 * kBytes, kBytes);
  EXPECT_EQ(counters.registrations_met, 1u);
  use(memory, kBytes);
  EXPECT_EQ(counters.registrations, 9u) << "the oldest went first";
  ::munmap(memory, 8 * 2 * kBytes);
}

TEST_P(Cache, without_it_each_use_registers) {
  open(0);
  std::byte* const memory = map();
  use(memory, kBytes);
  use(memory, kBytes);
  EXPECT_EQ(counters.registrations, 2u);
  ::munmap(memory, kBytes);
}

TEST_P(Cache, memory_that_may_not_be_written_is_a_source_and_nothing_else) {
  open(1 << 30);
  std::byte* const memory = map();
  ASSERT_EQ(::mprotect(memory, kBytes, PROT_READ), 0);
  for (int i = 0; i < 3; ++i) {
    Region* const source = regions->acquire(memory, kBytes, Regions::Use::source);
    ASSERT_NE(source, nullptr);
    EXPECT_FALSE(source->writable);
    for (const Regions::Use use : {Regions::Use::window, Regions::Use::sink})
      EXPECT_EQ(regions->acquire(memory, kBytes, use), nullptr) << "it is not bound or written";
    regions->release(source);
  }
  ::munmap(memory, kBytes);
}

INSTANTIATE_TEST_SUITE_P(Told, Cache, kSources, name_of);

using Remapped = Pair;
TEST_F(Remapped, a_message_out_of_new_memory_at_an_old_address_is_the_new_one) {
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (std::uint64_t round = 0; round < 30; ++round) {
    ASSERT_EQ(::mmap(memory, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              memory);
    const Bytes content = pattern(round, kBytes);
    std::memcpy(memory, content.data(), kBytes);
    stria_provider_key_t key{};
    ASSERT_EQ(b->fast_register(contract::contiguous(memory, kBytes), STRIA_ACCESS_REMOTE_READ, key, to_a),
              Status::ok);
    exchange(*b, to_a, *a);
    Bytes local(kBytes);
    ASSERT_EQ(get(*a, to_b, local, key), Status::ok);
    ASSERT_EQ(local, content) << "round " << round;
    ASSERT_EQ(b->invalidate(key), Status::ok);
  }
  ::munmap(memory, kBytes);
}

}  // namespace
}  // namespace stria::verbs::test
