// Memory that a provider allocates for peers to map: what it is, what its keys say, and that they keep every
// promise of other keys.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "datatype/layout.hpp"
#include "datatype/pack.hpp"
#include "tests/contract/subject.hpp"
#include "transport/key.hpp"

namespace stria::contract {
namespace {

using datatype::Layout;
constexpr unsigned kRead = STRIA_ACCESS_REMOTE_READ;
constexpr unsigned kWrite = STRIA_ACCESS_REMOTE_WRITE;

/// `a` accesses the memory of `b` through `link`.
class MemoryContract : public Contract {
 protected:
  MemoryContract() : a(open(1)), b(open(2)) {}
  void SetUp() override {
    if (!b->has(STRIA_CAP_MAP_MEMORY)) GTEST_SKIP() << lacks("memory");
    link = a->connect(*b);
    ASSERT_EQ(send({a.get(), b.get()}, *a, link, Path::buffered, header(0), pattern(0, 8)), Status::ok);
    ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == 1; }));
    ASSERT_NE(a->limits(link).can_map, 0u);
  }
  void TearDown() override {
    for (std::byte* memory : allocated_) EXPECT_EQ(provider().mem_free(b->device(), memory), STRIA_OK);
  }
  const stria_group_memory_t& provider() const { return *table().memory; }
  std::byte* allocate(std::uint64_t bytes) {
    void* out = nullptr;
    std::array<char, 200> error{};
    EXPECT_EQ(provider().mem_alloc(b->device(), bytes, &out, error.data(), error.size()), STRIA_OK)
        << error.data();
    allocated_.push_back(static_cast<std::byte*>(out));
    return allocated_.back();
  }
  void free(std::byte* memory) {
    EXPECT_EQ(std::erase(allocated_, memory), 1u);
    EXPECT_EQ(provider().mem_free(b->device(), memory), STRIA_OK);
  }
  stria_provider_key_t key_for(const stria_payload_t& memory, unsigned access) {
    stria_provider_key_t key{};
    EXPECT_EQ(b->fast_register(memory, access, key), Status::ok);
    return key;
  }
  Status finish(Status status, Ending& ending) {
    if (status != Status::in_progress) return status;
    EXPECT_TRUE(drive({a.get(), b.get()}, [&] { return ending.calls > 0; }));
    return ending.status;
  }
  Status get(const stria_payload_t& local, const stria_provider_key_t& key, std::uint64_t offset) {
    Ending ending;
    return finish(a->get(link, local, key, offset, ending), ending);
  }
  Status put(const stria_payload_t& local, const stria_provider_key_t& key, std::uint64_t offset) {
    Ending ending;
    return finish(a->put(link, local, key, offset, ending), ending);
  }
  std::unique_ptr<Peer> a, b;
  stria_link_t* link = nullptr;

 private:
  std::vector<std::byte*> allocated_;
};

TEST_P(MemoryContract, is_page_aligned_zero_and_given_back_once) {
  for (const std::uint64_t bytes : {0ull, 1ull, 4096ull, 4097ull, 5ull << 20}) {
    std::byte* memory = allocate(bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0u);
    EXPECT_TRUE(std::all_of(memory, memory + bytes, [](std::byte one) { return one == std::byte{}; }));
    std::fill(memory, memory + bytes, std::byte{0x3c});
    if (bytes > 1) {
      EXPECT_EQ(provider().mem_free(b->device(), memory + 1), STRIA_ERR_INVALID);
    }
    free(memory);
    EXPECT_EQ(provider().mem_free(b->device(), memory), STRIA_ERR_INVALID);
  }
  int other = 0;
  EXPECT_EQ(provider().mem_free(b->device(), &other), STRIA_ERR_INVALID);
}

TEST_P(MemoryContract, outlives_the_device_that_it_was_for) {
  auto c = open(3);
  void* out = nullptr;
  ASSERT_EQ(provider().mem_alloc(c->device(), 5000, &out, nullptr, 0), STRIA_OK);
  auto* memory = static_cast<std::byte*>(out);
  const Bytes fill = pattern(4, 5000);
  std::copy(fill.begin(), fill.end(), memory);
  c->close(100);
  EXPECT_TRUE(std::equal(fill.begin(), fill.end(), memory));
  EXPECT_EQ(provider().mem_free(nullptr, memory), STRIA_OK);
  EXPECT_EQ(provider().mem_free(nullptr, memory), STRIA_ERR_INVALID);
}

TEST_P(MemoryContract, of_before_the_first_device_is_lent_by_any_or_not_to_be_had) {
  void* out = nullptr;
  const stria_status_t status = provider().mem_alloc(nullptr, 4096, &out, nullptr, 0);
  if (status == STRIA_ERR_UNSUPPORTED) GTEST_SKIP() << lacks("memory without a device");
  ASSERT_EQ(status, STRIA_OK);
  const auto key = key_for(contiguous(out, 4096), kRead);
  EXPECT_TRUE(transport::is_mapped(key));
  EXPECT_EQ(b->invalidate(key), Status::ok);
  EXPECT_EQ(provider().mem_free(nullptr, out), STRIA_OK);
}

TEST_P(MemoryContract, what_cannot_be_had_is_an_error_with_a_reason) {
  for (const std::uint64_t bytes : {~0ull, ~0ull - 5000, 1ull << 62, 1ull << 47}) {
    void* out = this;
    std::array<char, 200> error{};
    EXPECT_EQ(provider().mem_alloc(b->device(), bytes, &out, error.data(), error.size()), STRIA_ERR_IO);
    EXPECT_EQ(out, nullptr);
    EXPECT_NE(std::string(error.data()), "");
    EXPECT_EQ(provider().mem_alloc(b->device(), bytes, &out, nullptr, 0), STRIA_ERR_IO);
  }
}

TEST_P(MemoryContract, keys_say_mapped_for_memory_that_is_allocated_from_end_to_end) {
  constexpr std::int64_t kBytes = 8192;
  std::byte* memory = allocate(kBytes);
  Bytes ordinary(kBytes);
  const Layout column = *Layout::vector(16, 1, 512, Layout::bytes(8));  // 7688 bytes from end to end
  const Layout later = *Layout::strided(2, 100, *Layout::resized(Layout::bytes(8), -64, 8));
  const auto mapped = [&](const stria_payload_t& what, unsigned more) {
    stria_provider_key_t key{};
    const Status status = b->fast_register(what, kRead | more, key);
    if (more != 0 && status == Status::unsupported) return false;
    EXPECT_EQ(status, Status::ok);
    const bool answer = transport::is_mapped(key);
    EXPECT_EQ(b->invalidate(key), Status::ok);
    return answer;
  };
  for (const unsigned more : {0u, STRIA_REGISTER_MAPPED}) {
    EXPECT_TRUE(mapped(contiguous(memory, kBytes), more));
    EXPECT_TRUE(mapped(contiguous(memory + kBytes - 1, 1), more));
    EXPECT_TRUE(mapped({&column, memory + 504, 1, 0, 0}, more));
    EXPECT_TRUE(mapped({&later, memory, 1, 0, 0}, more));
    EXPECT_FALSE(mapped({&column, memory + 505, 1, 0, 0}, more));
    EXPECT_FALSE(mapped(contiguous(memory + 1, kBytes), more));
    EXPECT_FALSE(mapped(contiguous(memory - 1, 2), more));
    EXPECT_FALSE(mapped(contiguous(ordinary), more));
  }
  stria_provider_key_t key{};
  EXPECT_EQ(b->fast_register(contiguous(ordinary), kRead | STRIA_REGISTER_MAPPED, key), Status::unsupported);
  free(memory);
  EXPECT_EQ(b->fast_register(contiguous(memory, 1), kRead | STRIA_REGISTER_MAPPED, key), Status::unsupported)
      << "freed memory is no longer known";
}

TEST_P(MemoryContract, layouts_move_to_and_from_it_in_typemap_order) {
  constexpr std::size_t kBytes = 100000;
  std::byte* memory = allocate(kBytes);
  const std::array<std::int64_t, 3> lengths = {3, 1, 40}, places = {500, 0, 200};
  const Layout layouts[] = {Layout::bytes(700), *Layout::vector(50, 1, 640, Layout::bytes(8)),
                            *Layout::indexed(lengths, places, Layout::bytes(5)),
                            *Layout::strided(4, 512, *Layout::strided(3, 100, Layout::bytes(20)))};
  std::mt19937 random(9);
  for (unsigned round = 0; round < 200; ++round) {
    const Layout& there = layouts[random() % std::size(layouts)];
    const Layout& here = layouts[random() % std::size(layouts)];
    const std::int64_t count = 1 + random() % 3;
    const Bytes fill = pattern(round, kBytes);
    std::copy(fill.begin(), fill.end(), memory);
    const auto key = key_for({&there, memory, count, 0, 0}, kRead | kWrite);
    ASSERT_TRUE(transport::is_mapped(key));
    const std::int64_t most = std::min(there.size() * count, here.size() * 3);
    const std::int64_t length = random() % (most + 1);
    const std::int64_t from = random() % (there.size() * count - length + 1);
    const std::int64_t to = random() % (here.size() * 3 - length + 1);
    Bytes local = pattern(round + 1000, kBytes), stream(static_cast<std::size_t>(length));
    const stria_payload_t payload{&here, local.data(), 3, to, length};
    if (round % 2 == 0) {
      Bytes expected = local;
      datatype::pack(datatype::range_of(there, memory, count, from, length), stream.data());
      datatype::unpack(datatype::range_of(here, expected.data(), 3, to, length), stream.data());
      ASSERT_EQ(get(payload, key, static_cast<std::uint64_t>(from)), Status::ok);
      ASSERT_EQ(local, expected);
    } else {
      Bytes expected = fill;
      datatype::pack(datatype::range_of(here, local.data(), 3, to, length), stream.data());
      datatype::unpack(datatype::range_of(there, expected.data(), count, from, length), stream.data());
      ASSERT_EQ(put(payload, key, static_cast<std::uint64_t>(from)), Status::ok);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), memory));
    }
    ASSERT_EQ(b->invalidate(key), Status::ok);
  }
}

TEST_P(MemoryContract, rights_bounds_and_ends_of_keys_hold) {
  std::byte* memory = allocate(4096);
  std::fill(memory, memory + 4096, std::byte{0x11});
  const auto readable = key_for(contiguous(memory, 1000), kRead);
  const auto writable = key_for(contiguous(memory, 1000), kWrite);
  Bytes local(100, std::byte{0x22});
  EXPECT_EQ(get(contiguous(local), writable, 0), Status::access_error);
  EXPECT_EQ(put(contiguous(local), readable, 0), Status::access_error);
  for (const std::uint64_t offset : {901ull, 1000ull, 4000ull, ~0ull, ~0ull - 50, 1ull << 63}) {
    EXPECT_EQ(get(contiguous(local), readable, offset), Status::access_error);
    EXPECT_EQ(put(contiguous(local), writable, offset), Status::access_error);
  }
  EXPECT_EQ(local, Bytes(100, std::byte{0x22}));
  EXPECT_TRUE(std::all_of(memory, memory + 4096, [](std::byte one) { return one == std::byte{0x11}; }));
  EXPECT_EQ(get(contiguous(local), readable, 900), Status::ok);
  EXPECT_EQ(b->invalidate(readable), Status::ok);
  EXPECT_EQ(b->invalidate(writable), Status::ok);
  EXPECT_EQ(get(contiguous(local), readable, 0), Status::access_error);
  EXPECT_EQ(put(contiguous(local), writable, 0), Status::access_error);
}

TEST_P(MemoryContract, memory_that_comes_after_freed_memory_is_not_mistaken_for_it) {
  for (unsigned round = 0; round < 100; ++round) {
    const std::size_t bytes = 4096 * (1 + round % 3);
    std::byte* memory = allocate(bytes);  // most times at the same address
    const Bytes fill = pattern(round, bytes);
    std::copy(fill.begin(), fill.end(), memory);
    const auto key = key_for(contiguous(memory, bytes), kRead);
    Bytes local(bytes);
    ASSERT_EQ(get(contiguous(local), key, 0), Status::ok);
    ASSERT_EQ(local, fill);
    ASSERT_EQ(b->invalidate(key), Status::ok);
    free(memory);
    if (round % 10 == 0) a->check();
  }
}

TEST_P(MemoryContract, is_allocated_and_freed_by_other_threads_while_a_device_registers) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (!stop) {
        void* memory = nullptr;
        EXPECT_EQ(provider().mem_alloc(b->device(), 8192, &memory, nullptr, 0), STRIA_OK);
        std::memset(memory, 1, 8192);
        EXPECT_EQ(provider().mem_free(b->device(), memory), STRIA_OK);
      }
    });
  std::byte* memory = allocate(4096);
  for (unsigned i = 0; i < 500; ++i) {
    memory[i] = static_cast<std::byte>(i);
    const auto key = key_for(contiguous(memory, 4096), kRead);
    ASSERT_TRUE(transport::is_mapped(key));
    Bytes local(1);
    ASSERT_EQ(get(contiguous(local), key, i), Status::ok);
    ASSERT_EQ(local[0], static_cast<std::byte>(i));
    ASSERT_EQ(b->invalidate(key), Status::ok);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

STRIA_CONTRACT_OF_GROUP(MemoryContract, memory);

}  // namespace
}  // namespace stria::contract
