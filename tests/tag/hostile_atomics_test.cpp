// Requests for atomics, and answers to them, whose fields a hostile peer chose: the worker performs none that
// its region does not allow, and ends no operation by an answer of a stranger.
#include <algorithm>
#include <random>
#include <vector>

#include "tag/objects.hpp"
#include "tests/tag/hostile_peer.hpp"

namespace stria::test {
namespace {

/// Its atomics are the engine's.
class HostileAtomics : public HostilePeer {
 protected:
  static fake::FabricOptions without_atomics() {
    auto out = quick();
    out.atomics = false;
    return out;
  }
  explicit HostileAtomics(const fake::FabricOptions& options = without_atomics()) : HostilePeer(options) {}
  /// Registers `bytes` from words_[1] on; the region's name.
  std::uint64_t share(std::uint64_t bytes, unsigned access) {
    EXPECT_EQ(stria_region_register(world_.worker(0), words_ + 1, nullptr, bytes, access, &region_),
              STRIA_OK);
    char packed[STRIA_KEY_MAX];
    size_t size = sizeof(packed);
    tag::KeyHead head;
    EXPECT_EQ(stria_region_key(region_, packed, &size), STRIA_OK);
    std::memcpy(&head, packed, sizeof head);
    return head.region;
  }
  ~HostileAtomics() override {
    if (region_ != nullptr) {
      EXPECT_EQ(stria_region_deregister(region_), STRIA_OK);
    }
  }
  alignas(16) std::uint64_t words_[10] = {};
  stria_region_t* region_ = nullptr;
};
class HostileAtomicsOfAdapter : public HostileAtomics {
 protected:
  HostileAtomicsOfAdapter() : HostileAtomics(quick()) {}
};
constexpr unsigned kAtomic = STRIA_ACCESS_REMOTE_ATOMIC;

TEST_F(HostileAtomics, are_looked_at_before_they_are_performed) {
  const std::uint64_t region = share(64, kAtomic);
  std::uint64_t before = 9;
  EXPECT_EQ(ask(region, STRIA_ATOMIC_FETCH_ADD, 8, before), Status::ok);
  EXPECT_EQ(before, 0u);
  EXPECT_EQ(words_[2], 1u);
  words_[2] = 0;
  const std::uint64_t outside[] = {64, 72, 60, 1ull << 32, 1ull << 63, ~0ull, ~0ull - 7, ~0ull - 63};
  for (const std::uint64_t offset : outside)
    EXPECT_EQ(ask(region, STRIA_ATOMIC_FETCH_ADD, offset, before), Status::access_error) << offset;
  for (const std::uint64_t offset : {1, 4, 7, 12, 55})
    EXPECT_EQ(ask(region, STRIA_ATOMIC_FETCH_ADD, offset, before), Status::invalid) << offset;
  for (const std::uint32_t op : {0u, 3u, 255u, 257u, ~0u})
    EXPECT_EQ(ask(region, op, 8, before), Status::invalid) << op;
  for (const std::uint64_t name :
       {region + 1, region ^ (std::uint64_t{1} << 32), std::uint64_t{0}, ~std::uint64_t{0}})
    EXPECT_EQ(ask(name, STRIA_ATOMIC_FETCH_ADD, 8, before), Status::access_error) << name;
  EXPECT_EQ(stria_region_deregister(std::exchange(region_, nullptr)), STRIA_OK);
  EXPECT_EQ(ask(region, STRIA_ATOMIC_FETCH_ADD, 8, before), Status::access_error) << "it is gone";
  for (const std::uint64_t word : words_) EXPECT_EQ(word, 0u);
}

TEST_F(HostileAtomics, need_the_right_and_a_whole_word) {
  std::uint64_t before = 0;
  std::uint64_t region = share(64, STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE);
  EXPECT_EQ(ask(region, STRIA_ATOMIC_FETCH_ADD, 8, before), Status::access_error);
  EXPECT_EQ(stria_region_deregister(std::exchange(region_, nullptr)), STRIA_OK);
  for (const std::uint64_t bytes : {0, 7}) {
    region = share(bytes, kAtomic);
    EXPECT_EQ(ask(region, STRIA_ATOMIC_FETCH_ADD, 0, before), Status::access_error) << bytes;
    EXPECT_EQ(stria_region_deregister(std::exchange(region_, nullptr)), STRIA_OK);
  }
  for (const std::uint64_t word : words_) EXPECT_EQ(word, 0u);
}

TEST_F(HostileAtomicsOfAdapter, are_not_performed_beside_it) {
  const std::uint64_t region = share(64, kAtomic);
  std::uint64_t before = 0;
  EXPECT_EQ(ask(region, STRIA_ATOMIC_FETCH_ADD, 8, before), Status::unsupported);
  EXPECT_EQ(words_[2], 0u);
}

TEST_F(HostileAtomics, of_random_fields_touch_nothing_but_the_region) {
  const std::uint64_t region = share(64, kAtomic);
  std::mt19937_64 random(2026);
  words_[0] = words_[9] = 0x1234;
  const auto field = [&](std::uint64_t good) {
    switch (random() % 4) {
      case 0:
        return random();
      case 1:
        return good ^ (std::uint64_t{1} << (random() % 64));
      case 2:
        return ~std::uint64_t{0} - random() % 80;
      default:
        return good;
    }
  };
  testing::internal::CaptureStderr();
  for (int i = 0; i < 20000; ++i) {
    const wire::AtomicBody body{field(8 * (random() % 10)), random(), random(), random()};
    contract::Bytes payload(random() % 8 == 0 ? 1 + random() % 64 : sizeof body);
    std::memcpy(payload.data(), &body, std::min(payload.size(), sizeof body));
    const auto kind = random() % 4 == 0 ? wire::Kind::word : wire::Kind::atomic;
    packet(wire::make_header(kind, field(region), static_cast<std::uint32_t>(field(1 + random() % 2))),
           payload);
  }
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(words_[0], 0x1234u);
  EXPECT_EQ(words_[9], 0x1234u);
  EXPECT_TRUE(std::any_of(words_ + 1, words_ + 9, [](std::uint64_t word) { return word != 0; }))
      << "none of them was good";
  std::uint64_t before = 0;
  EXPECT_EQ(ask(region, STRIA_ATOMIC_FETCH_ADD, 8, before), Status::ok);
  EXPECT_EQ(before + 1, words_[2]);
}

// An answer to somebody else's atomic, or a broken one, ends nothing.
TEST_F(HostileAtomics, that_were_answered_by_a_stranger_go_on) {
  alignas(8) std::uint64_t word = 0;
  stria_region_t* region = nullptr;
  ASSERT_EQ(stria_region_register(world_.worker(1), &word, nullptr, 8, kAtomic, &region), STRIA_OK);
  char packed[STRIA_KEY_MAX];
  size_t size = sizeof(packed);
  ASSERT_EQ(stria_region_key(region, packed, &size), STRIA_OK);
  stria_key_t* key = nullptr;
  ASSERT_EQ(stria_key_open(world_.endpoint(0, 1), packed, size, &key), STRIA_OK);
  Op op;
  std::uint64_t before = 7;
  const stria_atomic_t args{sizeof args, STRIA_ATOMIC_FETCH_ADD, key, 0, 1, 0, &before, &Op::on_done, &op};
  ASSERT_EQ(stria_atomic(world_.endpoint(0, 1), &args, &op.request), STRIA_IN_PROGRESS);
  testing::internal::CaptureStderr();
  for (std::uint32_t generation = 0; generation < 4; ++generation)
    for (std::uint32_t slot = 0; slot < 70; ++slot)
      for (const std::uint32_t status : {0u, 5u, static_cast<std::uint32_t>(-7), 0x80000000u})
        packet(wire::make_header(wire::Kind::word, std::uint64_t{generation} << 32 | slot, status),
               contract::Bytes(status == 0 ? 8 : 0));
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(op.callbacks, 0);
  EXPECT_EQ(before, 7u);
  EXPECT_TRUE(world_.run_until([&] { return op.callbacks == 1; }));
  EXPECT_EQ(op.info.status, STRIA_OK);
  EXPECT_EQ(before, 0u);
  stria_key_close(key);
  EXPECT_EQ(stria_region_deregister(region), STRIA_OK);
}

}  // namespace
}  // namespace stria::test
