// Memory that peers map, between processes: without cross-memory attach, by every way of attaching, while
// its owner frees it, dies or lies, and when descriptors run out.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <array>
#include <fstream>

#include "tests/transport/shm/node.hpp"

namespace stria::shm::test {
namespace {

using datatype::Layout;
using ::testing::HasSubstr;

const stria_hot_ops_t& ops() {
  return *Node::table().ops;
}
Bytes as_bytes(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  return {bytes, bytes + size};
}
std::byte* allocate(std::uint64_t bytes, std::string* why = nullptr) {
  void* out = nullptr;
  std::array<char, 300> error{};
  if (Node::table().mem_alloc(bytes, &out, error.data(), error.size()) != STRIA_OK && why != nullptr)
    *why = error.data();
  return static_cast<std::byte*>(out);
}
stria_provider_key_t lend(Node& node, const stria_payload_t& region) {
  stria_provider_key_t key{};
  EXPECT_EQ(ops().fast_register(node.device(), &region, 3, &key), STRIA_OK);
  return key;
}
void send_key(Child& to, const stria_provider_key_t& key) {
  to.send(as_bytes(&key, sizeof key));
}
stria_provider_key_t receive_key(Child& from) {
  stria_provider_key_t key{};
  const Bytes bytes = from.receive();
  if (bytes.size() == sizeof key) std::memcpy(&key, bytes.data(), sizeof key);
  return key;
}
Status get(stria_link_t* link, Bytes& out, const stria_provider_key_t& key, std::uint64_t offset) {
  const stria_payload_t local = memory(out.data(), out.size());
  return static_cast<Status>(ops().get(link, &local, &key, offset, nullptr));
}
Status put(stria_link_t* link, const Bytes& in, const stria_provider_key_t& key, std::uint64_t offset) {
  const stria_payload_t local = memory(in.data(), in.size());
  return static_cast<Status>(ops().put(link, &local, &key, offset, nullptr));
}
/// Mappings of allocations in this process.
int mapped_here() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find("memfd:stria-memory") != std::string::npos ? 1 : 0;
  return count;
}
void limit_descriptors(rlim_t most) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min(most, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

constexpr std::size_t kBytes = 300000;

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

void exchange(const Settings& settings, bool cma) {
  Child other([&](Child& up) { return owner(up, settings); });
  Node node(1, settings);
  stria_link_t* link = node.connect(other.receive(), 2);
  ASSERT_NE(link, nullptr) << node.error;
  EXPECT_EQ(node.limits(link).can_map, 1u);
  EXPECT_EQ(node.limits(link).can_get != 0, cma) << node.limits(link).fallback;
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
  EXPECT_EQ(get(link, some, ordinary, 0), cma ? Status::ok : Status::unsupported);
  EXPECT_EQ(mapped_here(), 1);
  other.send(as_bytes("x", 1));
  EXPECT_EQ(other.wait(), 0);
  ASSERT_TRUE(until([&] { return node.downs.count(2) > 0; }, [&] { node.progress(), node.check(); }));
  EXPECT_EQ(mapped_here(), 0) << "what a link mapped goes with it";
  EXPECT_EQ(get(link, part, whole, 0), Status::peer_failed);
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
  exchange({}, true);
}

bool forbid_cross_memory_attach() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof code / sizeof code[0], code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(ShmMemory, works_when_the_system_refuses_cross_memory_attach) {
  Child other([](Child& up) {
    if (!forbid_cross_memory_attach()) return 77;
    exchange({}, false);
    up.send(as_bytes("x", 1));
    return ::testing::Test::HasFailure() ? 1 : 0;
  });
  const int ended = other.wait();
  if (ended == 77) GTEST_SKIP() << "no seccomp filter here";
  EXPECT_EQ(ended, 0);
}

/// Lends an allocation and waits to be killed; the second word frees it, the third allocates and lends again.
int short_owner(Child& parent) {
  Node node(2);
  std::byte* buffer = allocate(kBytes);
  const Bytes fill = pattern(1, kBytes);
  std::copy(fill.begin(), fill.end(), buffer);
  parent.send(node.address());
  const auto key = lend(node, memory(buffer, kBytes));
  send_key(parent, key);
  parent.receive();
  ops().invalidate(node.device(), &key);
  Node::table().mem_free(buffer);
  parent.send(as_bytes("x", 1));
  parent.receive();
  buffer = allocate(kBytes);
  const Bytes other = pattern(2, kBytes);
  std::copy(other.begin(), other.end(), buffer);
  send_key(parent, lend(node, memory(buffer, kBytes)));
  parent.receive();
  return 0;
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

TEST(ShmMemory, without_descriptors_an_allocation_is_an_error_that_names_the_limit) {
  Child other([](Child&) {
    limit_descriptors(16);
    std::string why;
    std::vector<std::byte*> held;
    while (held.size() < 20) {
      std::byte* one = allocate(4096, &why);
      if (one == nullptr) break;
      held.push_back(one);
    }
    if (held.size() == 20 || held.empty()) return 2;
    if (why.find("RLIMIT_NOFILE is 16") == std::string::npos) return 3;
    if (Node::table().mem_free(held.back()) != STRIA_OK) return 4;
    return allocate(4096) != nullptr ? 0 : 5;
  });
  EXPECT_EQ(other.wait(), 0);
}

TEST(ShmMemory, without_descriptors_at_the_peer_the_access_is_refused_until_there_are_some) {
  Child other([](Child& up) { return short_owner(up); });
  Child reader([](Child& up) {
    Node node(1, {{"STRIA_SHM_CMA", "off"}});
    stria_link_t* link = node.connect(up.receive(), 2);
    const auto key = receive_key(up);
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    limit_descriptors(4);
    Bytes local(kBytes);
    if (get(link, local, key, 0) != Status::unsupported) return 2;
    if (get(link, local, key, 0) != Status::unsupported) return 3;
    if (std::string(node.limits(link).fallback).empty()) return 4;
    limit_descriptors(before.rlim_cur);
    node.check();
    if (get(link, local, key, 0) != Status::ok || local != pattern(1, kBytes)) return 5;
    return 0;
  });
  reader.send(other.receive());
  send_key(reader, receive_key(other));
  EXPECT_EQ(reader.wait(), 0);
}

// An owner that writes what it likes into its own key table.
TEST(ShmMemory, a_record_that_leads_outside_of_the_allocation_is_refused) {
  Child other([](Child& up) { return short_owner(up); });
  const Bytes address = other.receive();
  const auto key = receive_key(other);
  Node node(1, {{"STRIA_SHM_CMA", "off"}});
  stria_link_t* link = node.connect(address, 2);
  ASSERT_NE(link, nullptr) << node.error;
  const auto identity = decode_address(address);
  ASSERT_TRUE(identity);
  auto attached = attach(*identity, AttachMode::proc, 0);
  ASSERT_TRUE(attached) << attached.error().context;
  const SegmentView there(attached->map.data(),
                          reinterpret_cast<const SegmentHeader*>(attached->map.data())->shape);
  hw::KeyWord word = 0;
  std::memcpy(&word, key.data, sizeof word);
  auto& slot = reinterpret_cast<hw::KeySlot*>(there.keys() + sizeof(hw::KeyTableHeader))[hw::key_index(word)];
  hw::KeyRecord good;
  for (std::size_t i = 0; i < hw::KeySlot::kWords; ++i) {
    const std::uint64_t one = slot.words[i].load();
    std::memcpy(reinterpret_cast<std::byte*>(&good) + 8 * i, &one, 8);
  }
  ASSERT_EQ(good.bytes, static_cast<std::int64_t>(kBytes));
  const auto write = [&](const hw::KeyRecord& record) {
    for (std::size_t i = 0; i < hw::KeySlot::kWords; ++i) {
      std::uint64_t one = 0;
      std::memcpy(&one, reinterpret_cast<const std::byte*>(&record) + 8 * i, 8);
      slot.words[i].store(one);
    }
  };
  Bytes local(8);
  hw::KeyRecord bad = good;
  for (const std::int64_t offset : {INT64_MIN, std::int64_t{-1}, std::int64_t{8192}, INT64_MAX}) {
    bad.segment_offset = offset;
    write(bad);
    EXPECT_EQ(get(link, local, key, 0), Status::access_error) << offset;
  }
  bad = good;
  bad.bytes = std::int64_t{1} << 40;
  write(bad);
  EXPECT_EQ(get(link, local, key, 0), Status::access_error);
  bad = good;
  bad.segment ^= 1;
  write(bad);
  EXPECT_EQ(get(link, local, key, 0), Status::unsupported) << "no such allocation";
  bad.segment_fd = identity->fd;
  bad.segment ^= 2;
  write(bad);
  EXPECT_EQ(get(link, local, key, 0), Status::unsupported) << "the descriptor is the device's own segment";
  write(good);
  EXPECT_EQ(get(link, local, key, 0), Status::ok);
  EXPECT_TRUE(std::equal(local.begin(), local.end(), pattern(1, kBytes).begin()));
}

TEST(ShmMemory, a_child_of_fork_frees_its_part_and_peers_of_the_parent_go_on) {
  Child other([](Child& up) {
    Node node(2);
    std::byte* buffer = allocate(4096);
    buffer[7] = std::byte{7};
    const pid_t child = ::fork();
    if (child == 0) ::_exit(buffer[7] == std::byte{7} && Node::table().mem_free(buffer) == STRIA_OK ? 0 : 1);
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
