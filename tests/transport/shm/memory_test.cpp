// Memory that peers map, between processes: without cross-memory attach, by every way of attaching, while
// its owner frees it, dies or forks.
#include <algorithm>

#include "tests/transport/shm/lending.hpp"

namespace stria::shm::test {
namespace {

using datatype::Layout;
using ::testing::HasSubstr;

/// Lends an allocation, whole and as columns, and something else that is not mapped; ends with 0 when the
/// parent's marks are there at the end.
int owner(Child& parent, const Settings& settings) {
  Node node(2, settings);
  std::byte* buffer = allocate(kBytes);
  if (buffer == nullptr) return 2;
  const Bytes fill = pattern(77, kBytes);
  std::copy(fill.begin(), fill.end(), buffer);
  Bytes ordinary = pattern(5, 100);
  // A layout that begins 64 bytes after its base: the base of the second key lies before the allocation.
  const std::array<std::int64_t, 2> lengths = {8, 8}, places = {64, 2048};
  const Layout columns = *Layout::indexed(lengths, places, Layout::bytes(1));
  parent.send(node.address());
  send_key(parent, lend(node, memory(buffer, kBytes)));
  send_key(parent, lend(node, {&columns, buffer - 64, 20, 0, 0}));
  send_key(parent, lend(node, memory(ordinary.data(), ordinary.size())));
  if (parent.receive().empty()) return 3;
  return buffer[1000] == std::byte{0x5a} && buffer[0] == std::byte{0x5b} ? 0 : 4;
}

/// With or without cross-memory attach: without it where `cma` is false, or the machine refuses it.
void exchange(const Settings& settings, bool cma) {
  Child other([&](Child& up) { return owner(up, settings); });
  Node node(1, settings);
  stria_link_t* link = node.connect(other.receive(), 2);
  ASSERT_NE(link, nullptr) << node.error;
  EXPECT_EQ(node.limits(link).can_map, 1u);
  const std::string why = node.limits(link).fallback;
  const bool refused = node.limits(link).can_get == 0;
  EXPECT_TRUE(cma || refused);
  EXPECT_THAT(std::string(node.limits(link).path), HasSubstr("mapped memory"));
  const auto whole = receive_key(other), columns = receive_key(other), ordinary = receive_key(other);
  EXPECT_TRUE(transport::is_mapped(whole));
  EXPECT_TRUE(transport::is_mapped(columns));
  EXPECT_FALSE(transport::is_mapped(ordinary));

  EXPECT_EQ(mapped_here(), 0);
  Bytes local(kBytes);
  ASSERT_EQ(get(link, local, whole, 0), Status::ok);
  EXPECT_EQ(local, pattern(77, kBytes));
  EXPECT_EQ(mapped_here(), 1) << "it was copied by loads";
  Bytes expected;
  for (std::size_t i = 0; i < 20; ++i)
    for (const std::size_t place : {std::size_t{0}, std::size_t{1984}})
      expected.insert(expected.end(), local.begin() + static_cast<std::ptrdiff_t>(i * 1992 + place),
                      local.begin() + static_cast<std::ptrdiff_t>(i * 1992 + place + 8));
  Bytes part(300);
  ASSERT_EQ(get(link, part, columns, 13), Status::ok);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), expected.begin() + 13));
  EXPECT_EQ(get(link, part, columns, 21), Status::access_error);
  EXPECT_EQ(get(link, part, whole, kBytes - 299), Status::access_error);
  EXPECT_EQ(put(link, {std::byte{0x5a}}, whole, 1000), Status::ok);
  EXPECT_EQ(put(link, {std::byte{0x5b}}, columns, 0), Status::ok);
  Bytes some(100);
  EXPECT_EQ(get(link, some, ordinary, 0), refused ? Status::unsupported : Status::ok);
  EXPECT_EQ(mapped_here(), 1);
  other.send(as_bytes("x", 1));
  EXPECT_EQ(other.wait(), 0);
  ASSERT_TRUE(until([&] { return node.downs.count(2) > 0; }, [&] { node.progress(), node.check(); }));
  EXPECT_EQ(mapped_here(), 0) << "what a link mapped goes with it";
  EXPECT_EQ(get(link, part, whole, 0), Status::peer_failed);
  if (cma && refused) GTEST_SKIP() << why;
}

TEST(ShmMemory, works_without_cross_memory_attach) {
  exchange({{"STRIA_SHM_CMA", "off"}}, false);
}
TEST(ShmMemory, works_when_it_is_attached_by_proc) {
  exchange({{"STRIA_SHM_CMA", "off"}, {"STRIA_SHM_ATTACH", "proc"}}, false);
}
TEST(ShmMemory, works_when_it_is_attached_by_socket) {
  exchange({{"STRIA_SHM_CMA", "off"}, {"STRIA_SHM_ATTACH", "socket"}}, false);
}
TEST(ShmMemory, works_beside_cross_memory_attach) {
  exchange({{"STRIA_SHM_CMA", "auto"}}, true);
}

TEST(ShmMemory, works_when_the_system_refuses_cross_memory_attach) {
  Child other([](Child& up) {
    if (!forbid_cross_memory_attach()) return 77;
    exchange({}, false);
    up.send(as_bytes("x", 1));
    return ::testing::Test::HasFailure() ? 1 : 0;
  });
  const int ended = other.wait();
  if (ended == 77) GTEST_SKIP() << "the kernel lets this process set no seccomp filter";
  EXPECT_EQ(ended, 0);
}

TEST(ShmMemory, survives_its_owner_being_killed_while_it_is_read_and_written) {
  Child other([](Child& up) { return short_owner(up); });
  Node node(1, {{"STRIA_SHM_CMA", "off"}});
  stria_link_t* link = node.connect(other.receive(), 2);
  ASSERT_NE(link, nullptr) << node.error;
  const auto key = receive_key(other);
  Bytes local(kBytes);
  ASSERT_EQ(get(link, local, key, 0), Status::ok);
  const pid_t killer = ::fork();
  if (killer == 0) {
    ::usleep(3000);
    ::kill(other.pid(), SIGKILL);
    ::_exit(0);
  }
  Status status = Status::ok;
  ASSERT_TRUE(until([&] { return node.downs.count(2) > 0; },
                    [&] {
                      for (int i = 0; i < 10 && status == Status::ok; ++i) {
                        status = get(link, local, key, 0);
                        if (status == Status::ok) {
                          EXPECT_EQ(local, pattern(1, kBytes));
                          status = put(link, local, key, 0);
                        }
                      }
                      node.check();
                    }));
  ::waitpid(killer, nullptr, 0);
  EXPECT_EQ(node.downs[2], Status::peer_failed);
  EXPECT_EQ(mapped_here(), 0);
  EXPECT_EQ(get(link, local, key, 0), Status::peer_failed);
  other.wait();
}

TEST(ShmMemory, that_was_freed_is_let_go_and_what_comes_after_is_new) {
  Child other([](Child& up) { return short_owner(up); });
  Node node(1, {{"STRIA_SHM_CMA", "off"}});
  stria_link_t* link = node.connect(other.receive(), 2);
  ASSERT_NE(link, nullptr) << node.error;
  const auto old = receive_key(other);
  Bytes local(kBytes);
  ASSERT_EQ(get(link, local, old, 0), Status::ok);
  EXPECT_EQ(mapped_here(), 1);
  other.send(as_bytes("x", 1));
  other.receive();
  EXPECT_EQ(get(link, local, old, 0), Status::access_error);
  EXPECT_EQ(mapped_here(), 1) << "nobody pulls it away under a reader";
  node.check();
  EXPECT_EQ(mapped_here(), 0);
  other.send(as_bytes("x", 1));
  const auto fresh = receive_key(other);
  ASSERT_EQ(get(link, local, fresh, 0), Status::ok);
  EXPECT_EQ(local, pattern(2, kBytes));
  EXPECT_EQ(get(link, local, old, 0), Status::access_error);
}

TEST(ShmMemory, of_many_allocations_only_the_last_used_stay_mapped) {
  constexpr std::uint64_t kMany = 150;
  Child other([](Child& up) {
    Node node(2);
    up.send(node.address());
    for (std::uint64_t i = 0; i < kMany; ++i) {
      std::byte* buffer = allocate(4096);
      const Bytes fill = pattern(i, 4096);
      std::copy(fill.begin(), fill.end(), buffer);
      send_key(up, lend(node, memory(buffer, 4096)));
    }
    up.receive();
    return 0;
  });
  Node node(1, {{"STRIA_SHM_CMA", "off"}});
  stria_link_t* link = node.connect(other.receive(), 2);
  ASSERT_NE(link, nullptr) << node.error;
  std::vector<stria_provider_key_t> keys;
  for (std::uint64_t i = 0; i < kMany; ++i) keys.push_back(receive_key(other));
  for (std::uint64_t i = 0; i < 4 * kMany; ++i) {
    const std::uint64_t at = i < kMany ? i : i * 7919 % kMany;
    Bytes local(4096);
    ASSERT_EQ(get(link, local, keys[at], 0), Status::ok);
    ASSERT_EQ(local, pattern(at, 4096));
  }
  EXPECT_LE(mapped_here(), 64);
}

TEST(ShmMemory, a_child_of_fork_frees_its_part_and_peers_of_the_parent_go_on) {
  Child other([](Child& up) {
    Node node(2);
    std::byte* buffer = allocate(4096);
    buffer[7] = std::byte{7};
    const pid_t child = ::fork();
    if (child == 0)
      ::_exit(buffer[7] == std::byte{7} && Node::table().memory->mem_free(nullptr, buffer) == STRIA_OK ? 0
                                                                                                       : 1);
    int status = 1;
    ::waitpid(child, &status, 0);
    if (status != 0) return 2;
    up.send(node.address());
    send_key(up, lend(node, memory(buffer, 4096)));
    up.receive();
    return 0;
  });
  Node node(1, {{"STRIA_SHM_CMA", "off"}});
  stria_link_t* link = node.connect(other.receive(), 2);
  ASSERT_NE(link, nullptr) << node.error;
  const auto key = receive_key(other);
  Bytes local(8);
  ASSERT_EQ(get(link, local, key, 0), Status::ok);
  EXPECT_EQ(local[7], std::byte{7});
  node.check();
  EXPECT_EQ(mapped_here(), 1) << "the parent did not free it";
  other.send(as_bytes("x", 1));
  EXPECT_EQ(other.wait(), 0);
}

}  // namespace
}  // namespace stria::shm::test
