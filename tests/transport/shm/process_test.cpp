// Devices in processes of their own: exchange, cross-memory attach, and processes that are killed.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/named_memory.hpp"
#include "tests/transport/shm/node.hpp"

namespace stria::shm::test {
namespace {

Bytes as_bytes(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  return {bytes, bytes + size};
}

/// A child that answers every packet with the same payload, until tag 0.
int echo(Child& parent, const Settings& settings, std::uint64_t id) {
  Node node(id, settings);
  if (node.opened != Status::ok) return 2;
  parent.send(node.address());
  bool stop = false;
  std::vector<Got> todo;
  node.on_deliver = [&](const Got& one) { todo.push_back(one); };
  while (!stop) {
    node.progress();
    for (const Got& one : std::exchange(todo, {})) {
      if (one.header.tag == 0)
        stop = true;
      else if (node.send(node.ups.at(one.from), one.header, one.payload, one.header.tag % 2 == 1) !=
               Status::ok)
        return 3;
    }
    ::sched_yield();
  }
  node.close(5000);
  return 0;
}

void echo_exchange(const Settings& parent, const Settings& child) {
  Child other([&](Child& up) { return echo(up, child, 2); });
  Node node(1, parent);
  const Bytes address = other.receive();
  stria_link_t* link = node.connect(address, 2);
  ASSERT_NE(link, nullptr) << node.error;
  const unsigned seed = 17;
  std::mt19937 random(seed);
  std::size_t sent = 0;
  std::map<std::uint64_t, std::uint32_t> waiting;
  node.on_deliver = [&](const Got& one) {
    EXPECT_EQ(one.payload, pattern(one.header.tag, waiting.at(one.header.tag)));
    waiting.erase(one.header.tag);
  };
  for (std::uint64_t i = 1; i <= 3000; ++i, ++sent) {
    const std::uint32_t bytes = random() % (random() % 2 == 0 ? 100 : 8000);
    waiting[i] = bytes;
    ASSERT_EQ(node.send(link, header(i), pattern(i, bytes), random() % 2 == 0), Status::ok);
    if (waiting.size() > 20) node.progress();
  }
  ASSERT_TRUE(until([&] { return waiting.empty(); }, [&] { node.progress(); }));
  ASSERT_EQ(node.send(link, header(0), {}, false), Status::ok);
  node.close(5000);
  EXPECT_EQ(other.wait(), 0);
}

TEST(ShmProcess, two_processes_exchange_packets_through_windows) {
  echo_exchange({}, {});
}
TEST(ShmProcess, two_processes_exchange_packets_through_the_inbox) {
  const Settings none = {{"STRIA_SHM_WINDOWS", "0"}, {"STRIA_SHM_INBOX_SLOTS", "64"}};
  echo_exchange(none, none);
}
TEST(ShmProcess, two_processes_attach_by_socket) {
  const Settings socket = {{"STRIA_SHM_ATTACH", "socket"}};
  echo_exchange(socket, socket);
}
TEST(ShmProcess, two_processes_attach_by_proc) {
  const Settings proc = {{"STRIA_SHM_ATTACH", "proc"}};
  echo_exchange(proc, proc);
}

/// A child that floods the address it is given with packets tag 0, 1, 2, …, as fast as it can.
int flood(Child& parent, std::uint64_t id) {
  Node node(id);
  const Bytes address = parent.receive();
  stria_link_t* link = node.connect(address, 100);
  if (link == nullptr) return 2;
  parent.send(as_bytes("x", 1));
  for (std::uint64_t i = 0;; ++i) {
    const std::uint32_t bytes = static_cast<std::uint32_t>((i * 37) % 3000);
    if (node.send(link, header(i, bytes), pattern(id + i, bytes), i % 2 == 0) != Status::ok) return 3;
  }
}

void kill_producers(const char* windows) {
  // Two producers: one is killed at random moments and replaced, the other goes on throughout.
  constexpr int kRounds = 12;
  std::vector<std::unique_ptr<Child>> victims;
  Child steady([](Child& up) { return flood(up, 1); });
  for (int i = 0; i < kRounds; ++i)
    victims.push_back(
        std::make_unique<Child>([i](Child& up) { return flood(up, 10 + static_cast<std::uint64_t>(i)); }));
  Node hub(100,
           {{"STRIA_SHM_WINDOWS", windows}, {"STRIA_SHM_INBOX_SLOTS", "32"}, {"STRIA_SHM_MAX_PEERS", "3"}});
  ASSERT_EQ(hub.opened, Status::ok) << hub.error;
  std::map<std::uint64_t, std::array<std::uint64_t, 2>> next;  // by peer and path parity
  std::size_t bad = 0;
  hub.on_deliver = [&](const Got& one) {
    const std::size_t parity = one.header.tag % 2;
    auto& expected = next[one.from];
    if (expected[parity] == 0) expected[parity] = parity;
    bad += one.header.tag != expected[parity] ||
           one.payload != pattern(one.from + one.header.tag, one.header.immediate);
    expected[parity] += 2;
  };
  steady.send(hub.address());
  std::mt19937 random(5);
  for (int i = 0; i < kRounds; ++i) {
    Child& victim = *victims[static_cast<std::size_t>(i)];
    const auto id = 10 + static_cast<std::uint64_t>(i);
    victim.send(hub.address());
    ASSERT_TRUE(until([&] { return next.count(id) > 0; }, [&] { hub.progress(); })) << "round " << i;
    const auto stop = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 5000);
    while (std::chrono::steady_clock::now() < stop) hub.progress();
    const std::uint64_t before = next[1][0];
    victim.kill();
    ASSERT_TRUE(until([&] { return hub.downs.count(id) > 0; }, [&] { hub.progress(), hub.check(); }))
        << "round " << i;
    EXPECT_EQ(hub.downs[id], Status::peer_failed);
    ASSERT_TRUE(until([&] { return next[1][0] > before; }, [&] { hub.progress(); }))
        << "the other producer goes on";
  }
  EXPECT_EQ(bad, 0u);
  EXPECT_EQ(hub.downs.count(1), 0u);
}

TEST(ShmProcess, producers_killed_at_random_moments_harm_nobody_else_in_windows) {
  kill_producers("4");
}
TEST(ShmProcess, producers_killed_at_random_moments_harm_nobody_else_in_the_inbox) {
  kill_producers("0");
}

TEST(ShmProcess, sends_to_a_killed_peer_end_with_peer_failed_and_get_says_so_too) {
  Child other([](Child& up) { return echo(up, {}, 2); });
  Node node(1);
  stria_link_t* link = node.connect(other.receive(), 2);
  ASSERT_NE(link, nullptr) << node.error;
  ASSERT_EQ(node.send(link, header(1), pattern(1, 10), true), Status::ok);
  ASSERT_TRUE(until([&] { return node.got.size() == 1; }, [&] { node.progress(); }));
  node.check();
  EXPECT_TRUE(node.downs.empty());
  other.kill();
  node.check();
  ASSERT_EQ(node.downs.count(2), 1u);
  EXPECT_EQ(node.downs[2], Status::peer_failed);
  EXPECT_EQ(node.pio(link, header(1), {}), Status::peer_failed);
  EXPECT_EQ(node.eager(link, header(1), {}), Status::peer_failed);
  std::byte byte{};
  const stria_payload_t local = memory(&byte, 1);
  const stria_provider_key_t key{4, {}};
  EXPECT_EQ(Node::ops().get(link, &local, &key, 0, nullptr), STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(node.limits(link).pio_max, 0u);
}

/// Registers a buffer, tells its key, and holds still until told to end.
int lend(Child& parent, const Settings& settings) {
  Node node(2, settings);
  std::vector<std::byte> buffer = pattern(77, 300000);
  stria_payload_t region = memory(buffer.data(), buffer.size());
  stria_provider_key_t key{};
  if (Node::ops().fast_register(node.device(), nullptr, &region, 3, &key) != STRIA_OK) return 2;
  const auto column = datatype::Layout::strided(64, 1024, datatype::Layout::bytes(256));
  stria_payload_t strided{&*column, buffer.data(), 2, 0, 0};
  stria_provider_key_t strided_key{};
  if (Node::ops().fast_register(node.device(), nullptr, &strided, 3, &strided_key) != STRIA_OK) return 3;
  parent.send(node.address());
  parent.send(as_bytes(&key, sizeof key));
  parent.send(as_bytes(&strided_key, sizeof strided_key));
  if (parent.receive().empty()) return 4;
  return buffer[1000] == std::byte{0x5a} && buffer[1024] == std::byte{0x5b} ? 0 : 5;
}

TEST(ShmProcess, get_and_put_cross_processes_contiguous_and_strided) {
  Child other([](Child& up) { return lend(up, {}); });
  Node node(1);
  stria_link_t* link = node.connect(other.receive(), 2);
  ASSERT_NE(link, nullptr) << node.error;
  stria_provider_key_t key{}, strided{};
  std::memcpy(&key, other.receive().data(), sizeof key);
  std::memcpy(&strided, other.receive().data(), sizeof strided);
  const auto* ops = &Node::ops();
  if (node.limits(link).can_get == 0) GTEST_SKIP() << node.limits(link).fallback;
  Bytes local(300000);
  stria_payload_t here = memory(local.data(), local.size());
  ASSERT_EQ(ops->get(link, &here, &key, 0, nullptr), STRIA_OK);
  EXPECT_EQ(local, pattern(77, 300000));
  // The strided region's stream is 128 blocks of 256 bytes; the second instance follows at the extent.
  const Bytes whole = pattern(77, 300000);
  const std::size_t extent = 63 * 1024 + 256;
  Bytes expected;
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 64; ++j)
      expected.insert(expected.end(), whole.begin() + static_cast<std::ptrdiff_t>(i * extent + j * 1024),
                      whole.begin() + static_cast<std::ptrdiff_t>(i * extent + j * 1024 + 256));
  Bytes part(20000);
  here = memory(part.data(), part.size());
  ASSERT_EQ(ops->get(link, &here, &strided, 5000, nullptr), STRIA_OK);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), expected.begin() + 5000));
  // Into a local layout of small blocks, which goes through the bounce buffer.
  const auto fine = datatype::Layout::strided(2500, 24, datatype::Layout::bytes(8));
  Bytes scattered(2500 * 24);
  stria_payload_t small{&*fine, scattered.data(), 1, 0, 20000};
  ASSERT_EQ(ops->get(link, &small, &strided, 100, nullptr), STRIA_OK);
  for (std::size_t i = 0; i < 20000; ++i) ASSERT_EQ(scattered[i / 8 * 24 + i % 8], expected[100 + i]) << i;
  const std::byte mark{0x5a}, second{0x5b};
  here = memory(&mark, 1);
  ASSERT_EQ(ops->put(link, &here, &key, 1000, nullptr), STRIA_OK);
  here = memory(&second, 1);
  ASSERT_EQ(ops->put(link, &here, &strided, 256, nullptr), STRIA_OK);
  here = memory(local.data(), 2);
  EXPECT_EQ(ops->get(link, &here, &key, 299999, nullptr), STRIA_ERR_ACCESS);
  EXPECT_EQ(ops->get(link, &here, &key, ~std::uint64_t{0}, nullptr), STRIA_ERR_ACCESS);
  other.send(as_bytes("x", 1));
  EXPECT_EQ(other.wait(), 0);
}

/// Registers a buffer for one message: its key has a hint. Then it ends the key.
int lend_once(Child& parent) {
  Node node(2);
  std::vector<std::byte> buffer = pattern(78, 100000);
  const stria_payload_t region = memory(buffer.data(), buffer.size());
  const auto* ops = &Node::ops();
  stria_provider_key_t key{};
  const unsigned access = STRIA_ACCESS_REMOTE_READ | STRIA_REGISTER_HINT;
  if (ops->fast_register(node.device(), nullptr, &region, access, &key) != STRIA_OK) return 2;
  parent.send(node.address());
  parent.send(as_bytes(&key, sizeof key));
  if (parent.receive().empty()) return 3;
  if (ops->invalidate(node.device(), &key) != STRIA_OK) return 4;
  parent.send(as_bytes("ended", 5));
  return parent.receive().empty() ? 5 : 0;
}

TEST(ShmProcess, a_hint_saves_time_and_gives_no_right) {
  Child other([](Child& up) { return lend_once(up); });
  Node node(1);
  stria_link_t* link = node.connect(other.receive(), 2);
  ASSERT_NE(link, nullptr) << node.error;
  stria_provider_key_t key{};
  std::memcpy(&key, other.receive().data(), sizeof key);
  const auto* ops = &Node::ops();
  if (node.limits(link).can_get == 0) GTEST_SKIP() << node.limits(link).fallback;
  ASSERT_GT(key.bytes, STRIA_KEY_FLAGS_AT + 1);
  ASSERT_EQ(key.data[STRIA_KEY_FLAGS_AT], STRIA_KEY_HINT);
  Bytes local(1000);
  const stria_payload_t here = memory(local.data(), local.size());
  const Bytes whole = pattern(78, 100000);
  const auto right = [&](std::size_t at) {
    return std::equal(local.begin(), local.end(), whole.begin() + static_cast<std::ptrdiff_t>(at));
  };
  ASSERT_EQ(ops->get(link, &here, &key, 99000, nullptr), STRIA_OK);
  EXPECT_TRUE(right(99000));
  stria_provider_key_t cut = key;
  transport::drop_hint(cut);
  EXPECT_EQ(cut.bytes, STRIA_KEY_FLAGS_AT);
  ASSERT_EQ(ops->get(link, &here, &cut, 5, nullptr), STRIA_OK);
  EXPECT_TRUE(right(5));
  EXPECT_EQ(ops->get(link, &here, &key, 99001, nullptr), STRIA_ERR_ACCESS) << "over the end";
  EXPECT_EQ(ops->put(link, &here, &key, 0, nullptr), STRIA_ERR_ACCESS) << "without the right";
  stria_provider_key_t moved = key;  // to memory that the peer has, but did not lend
  moved.data[STRIA_KEY_FLAGS_AT + 5] ^= 0x40;
  EXPECT_EQ(ops->get(link, &here, &moved, 0, nullptr), STRIA_ERR_ACCESS);
  other.send(as_bytes("x", 1));
  ASSERT_FALSE(other.receive().empty());
  EXPECT_EQ(ops->get(link, &here, &key, 0, nullptr), STRIA_ERR_ACCESS) << "ended";
  EXPECT_EQ(ops->get(link, &here, &cut, 0, nullptr), STRIA_ERR_ACCESS) << "ended";
  other.send(as_bytes("x", 1));
  EXPECT_EQ(other.wait(), 0);
}

TEST(ShmProcess, has_no_shared_memory_that_would_stay_when_it_is_killed) {
  Child other([](Child& up) { return echo(up, {}, 2); });
  Node node(1);
  stria_link_t* link = node.connect(other.receive(), 2);
  ASSERT_NE(link, nullptr) << node.error;
  for (const bool by_window : {true, false})
    ASSERT_EQ(node.send(link, header(1), pattern(1, 10), by_window), Status::ok);
  ASSERT_TRUE(until([&] { return node.got.size() == 2; }, [&] { node.progress(); }));
  const std::vector<std::string> none;
  EXPECT_EQ(stria::test::named_memory(::getpid()), none);
  EXPECT_EQ(stria::test::named_memory(other.pid()), none);
}

// That the test above would see such memory.
TEST(ShmProcess, with_named_memory_is_seen_until_the_name_is_gone) {
  const std::string name = "/stria_test." + std::to_string(::getpid());
  const std::vector<std::string> none, one = {"/dev/shm" + name};
  const int fd = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(::ftruncate(fd, 4096), 0);
  EXPECT_EQ(stria::test::named_memory(::getpid()), one) << "open";
  void* const mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  EXPECT_NE(mapped, MAP_FAILED);
  ::close(fd);
  EXPECT_EQ(stria::test::named_memory(::getpid()), one) << "mapped";
  EXPECT_EQ(::shm_unlink(name.c_str()), 0);
  EXPECT_EQ(stria::test::named_memory(::getpid()), none);
  EXPECT_EQ(::munmap(mapped, 4096), 0);
}

}  // namespace
}  // namespace stria::shm::test
