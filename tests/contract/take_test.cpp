// What `take` promises: the packet that is wanted or nothing, and everything else as if it had not been
// asked.
#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tests/contract/subject.hpp"

namespace stria::contract {
namespace {

class TakeContract : public Contract {
 protected:
  TakeContract() : a(open(1)), b(open(2)), link(a->connect(*b)) {
    EXPECT_EQ(send({a.get(), b.get()}, *a, link, paths(*a, link).front(), header(0), {}), Status::ok);
    EXPECT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == 1; }));
    b->received.clear();
    back = b->ups.at(1);
  }
  std::int32_t take(stria_header_t& wanted, void* memory, std::uint32_t capacity) {
    return b->ops().take(back, &wanted, memory, capacity);
  }
  /// Of each path, short, and longer than other paths take.
  std::vector<std::pair<Path, std::uint32_t>> sizes() {
    std::vector<std::pair<Path, std::uint32_t>> out;
    for (const Path path : paths(*a, link)) {
      const auto most = static_cast<std::uint32_t>(limit(*a, link, path));
      for (const std::uint32_t bytes : {24u, 3000u, 4097u, 20000u, most})
        if (bytes <= most && bytes > 23) out.emplace_back(path, bytes);
    }
    return out;
  }
  std::unique_ptr<Peer> a, b;
  stria_link_t* link;
  stria_link_t* back = nullptr;
};

TEST_P(TakeContract, what_differs_from_what_is_wanted_is_left_for_delivery) {
  for (const auto& [path, bytes] : sizes()) {
    const Bytes data = pattern(3, bytes);
    const stria_header_t sent{9, 4, 77, 5, 0x0102030405060708};
    // One of its kind before it, so that nothing else than the packet can come next.
    ASSERT_EQ(send({a.get()}, *a, link, path, header(1), data), Status::ok);
    ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return !b->received.empty(); }));
    b->received.clear();
    ASSERT_EQ(send({a.get()}, *a, link, path, sent, data), Status::ok);
    Bytes memory(bytes + 40, std::byte{0xee});
    const Bytes untouched = memory;
    const stria_header_t others[] = {{8, 4, 77, 5, sent.tag},     {9, 5, 77, 5, sent.tag},
                                     {9, 4, 78, 5, sent.tag},     {9, 4, 77 + 256, 5, sent.tag},
                                     {9, 4, 77, 5, sent.tag + 1}, {9, 4, 77, 5, sent.tag ^ (1ull << 63)}};
    for (stria_header_t wanted : others)
      EXPECT_LT(take(wanted, memory.data(), static_cast<std::uint32_t>(memory.size())), 0);
    for (const std::uint32_t capacity : {0u, 8u, bytes - 1}) {
      stria_header_t wanted = sent;
      wanted.immediate = 6;
      EXPECT_LT(take(wanted, memory.data(), capacity), 0) << capacity;
      EXPECT_EQ(wanted.immediate, 6u);
    }
    EXPECT_EQ(memory, untouched);
    stria_header_t wanted = sent;
    if (take(wanted, memory.data(), bytes) >= 0) {
      EXPECT_TRUE(std::equal(data.begin(), data.end(), memory.begin()));
      EXPECT_EQ(wanted.immediate, 5u);
      EXPECT_TRUE(std::equal(untouched.begin() + bytes, untouched.end(), memory.begin() + bytes));
      std::printf("%s, %u bytes: taken as it was wanted\n", path == Path::pio ? "pio" : "buffered", bytes);
      continue;
    }
    ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return !b->received.empty(); }));
    EXPECT_EQ(b->received.front().payload, data);
    EXPECT_EQ(b->received.front().header.immediate, 5u);
    b->received.clear();
  }
}

// Whoever waits for the packet of a path that comes next gets it by one of the two ways, and nothing twice.
TEST_P(TakeContract, each_packet_comes_once_and_in_order_whoever_gets_it) {
  const unsigned seed = 11;
  std::mt19937 random(seed);
  const auto available = paths(*a, link);
  const std::uint16_t all = packets(4000);
  std::uint16_t sent = 0, got = 0, taken = 0;
  std::map<std::uint16_t, Bytes> delivered;  // what overtook others on another path waits
  b->on_deliver = [&](const Received& one) {
    EXPECT_TRUE(delivered.emplace(one.header.sequence, one.payload).second) << one.header.sequence;
  };
  std::size_t most = 20000;
  for (const Path path : available) most = std::min(most, limit(*a, link, path));
  const auto bytes_of = [most](std::uint16_t i) {
    return i * 37u %
           (i % 16 == 0  ? most + 1
            : i % 7 == 0 ? std::min<std::size_t>(most, 299) + 1
                         : std::min<std::size_t>(most, 59) + 1);
  };
  ASSERT_TRUE(drive({a.get()}, [&] {
    const Path path = available[random() % available.size()];
    if (sent < all && a->try_send(link, path, header(sent), pattern(sent, bytes_of(sent)).data(),
                                  bytes_of(sent)) == Status::ok)
      ++sent;
    for (; delivered.count(got) != 0; ++got)
      EXPECT_EQ(delivered[got], pattern(got, bytes_of(got))) << "seed " << seed;
    Bytes memory(most + 2, std::byte{0xee});
    stria_header_t wanted = header(got);
    wanted.immediate = ~0u;
    const std::int32_t bytes =
        random() % 8 == 0 ? -1 : take(wanted, memory.data(), static_cast<std::uint32_t>(most + 1));
    if (bytes >= 0) {
      EXPECT_EQ(static_cast<std::size_t>(bytes), bytes_of(got));
      Bytes expected = pattern(got, bytes_of(got));
      expected.resize(memory.size(), std::byte{0xee});
      EXPECT_EQ(memory, expected) << "packet " << got << ", seed " << seed;
      EXPECT_EQ(wanted.immediate, header(got).immediate);
      EXPECT_EQ(delivered.count(got), 0u);
      ++got, ++taken;
    } else if (random() % 4 == 0) {
      b->progress(1 + random() % 4);
    }
    return got == all || HasFailure();
  }));
  EXPECT_EQ(got, all);
  std::printf("%u of %u packets were taken\n", taken, all);
}

// The sender learns in the end that all was taken: it can close, and its window has room.
TEST_P(TakeContract, what_was_taken_is_given_back_without_another_packet) {
  if (!a->has(STRIA_CAP_PIO) || a->limits(link).pio_max < 8) GTEST_SKIP() << lacks("inline sends of 8 bytes");
  const std::uint32_t before = a->limits(link).pio_credits;
  for (std::uint16_t i = 0; i < 8; ++i) {
    ASSERT_EQ(send({a.get(), b.get()}, *a, link, Path::pio, header(i), pattern(i, 8)), Status::ok);
    std::byte memory[8];
    stria_header_t wanted = header(i);
    if (take(wanted, memory, sizeof memory) < 0) GTEST_SKIP() << lacks("take");
  }
  b->progress();
  EXPECT_TRUE(drive({a.get()}, [&] { return a->limits(link).pio_credits <= before; }));
  const auto start = std::chrono::steady_clock::now();
  a->close(60000);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30)) << "all was taken";
}

STRIA_CONTRACT_OF_GROUP(TakeContract, look);

}  // namespace
}  // namespace stria::contract
