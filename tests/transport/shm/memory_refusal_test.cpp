// Memory that peers map when it cannot be had or must not be: descriptors run out, a key's record lies.
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>

#include "base/format.hpp"
#include "tests/transport/shm/lending.hpp"

namespace stria::shm::test {
namespace {

void limit_descriptors(rlim_t most) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min(most, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
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
    if (Node::table().memory->mem_free(nullptr, held.back()) != STRIA_OK) return 4;
    return allocate(4096) != nullptr ? 0 : 5;
  });
  EXPECT_EQ(other.wait(), 0);
}

TEST(ShmMemory, more_than_the_machine_has_is_an_error_that_names_the_limit) {
  struct sysinfo all {};
  ASSERT_EQ(::sysinfo(&all), 0);
  const std::uint64_t most = (std::uint64_t{all.totalram} + all.totalswap) * all.mem_unit;
  for (const std::uint64_t bytes : {most + 1, 4 * most}) {
    std::string why;
    EXPECT_EQ(allocate(bytes, &why), nullptr);
    EXPECT_THAT(why, HasSubstr(fmt::format("no {} bytes", bytes)));
    EXPECT_THAT(why, HasSubstr(fmt::format("has {} bytes", most)));
  }
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

}  // namespace
}  // namespace stria::shm::test
