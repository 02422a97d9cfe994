// How a peer's end is noticed: that it closed, and that it lives though its process id is found elsewhere.
#include <future>
#include <thread>

#include "tests/transport/shm/node.hpp"
#include "transport/shm/address.hpp"

namespace stria::shm::test {
namespace {

TEST(ShmLiveness, a_peer_that_closes_is_down_only_after_its_last_packet_was_delivered) {
  Child other([](Child& up) {
    Node node(2);
    const Bytes address = up.receive();
    stria_link_t* link = node.connect(address, 1);
    if (link == nullptr) return 2;
    for (std::uint64_t i = 0; i < 20; ++i)
      if (node.send(link, header(i), pattern(i, i * 400), true) != Status::ok) return 3;
    node.close(10);
    return 0;
  });
  Child patient([](Child& up) {
    Node late(3);
    const Bytes address = up.receive();
    stria_link_t* link = late.connect(address, 1);
    if (link == nullptr) return 2;
    for (std::uint64_t i = 0; i < 20; ++i)
      if (late.send(link, header(i), pattern(i, i * 400), true) != Status::ok) return 3;
    late.close(10000);
    return 0;
  });
  Node node(1);
  other.send(node.address());
  EXPECT_EQ(other.wait(), 0) << "close does not wait longer than it may";
  // The process is gone before its hello was seen: no peer learns of it, and nothing stays behind.
  ASSERT_TRUE(until([&] { return node.progress() == 0; }, [&] { node.check(); }));

  patient.send(node.address());
  ASSERT_TRUE(until([&] { return node.downs.count(3) > 0; }, [&] { node.progress(1), node.check(); }));
  EXPECT_EQ(patient.wait(), 0);
  EXPECT_EQ(node.downs[3], Status::peer_failed) << "gone, in order or not";
  ASSERT_EQ(node.got.size(), 20u);
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(node.got[i].payload, pattern(i, i * 400));
}

/// The address of a worker on another node, whose process id is `pid` here. `host`: as the node gives it.
Bytes address_elsewhere(const Node& like, pid_t pid, std::uint64_t host) {
  auto identity = *decode_address(like.address());
  identity.nonce ^= 1;
  identity.worker_id = 99;
  identity.pid = static_cast<std::uint32_t>(pid);
  identity.host = host;
  Bytes address(kAddressBytes);
  encode_address(identity, std::span<std::byte, kAddressBytes>(address));
  return address;
}

// Two nodes that were booted alike give like ids: the process id of a worker there may be that of this
// process, or of one of its threads, here. Looking for the worker must not cost this process its sign of
// life.
TEST(ShmLiveness, an_id_from_another_node_that_is_a_thread_here_does_not_end_this_process_for_its_peers) {
  Child other([](Child& up) {
    Node node(2);
    if (node.connect(up.receive(), 1) == nullptr) return 2;
    up.send(Bytes(1));
    if (up.receive().empty()) return 3;
    node.check();
    return node.downs.empty() ? 0 : 4;
  });
  Node node(1);
  other.send(node.address());
  ASSERT_FALSE(other.receive().empty());
  std::promise<pid_t> told;
  std::promise<void> end;
  std::thread thread([&] {
    told.set_value(::gettid());
    end.get_future().wait();
  });
  for (const pid_t id : {told.get_future().get(), ::getpid()}) {
    EXPECT_EQ(node.connect(address_elsewhere(node, id, 0), 99), nullptr);
    EXPECT_EQ(node.connected, Status::unreachable);
    EXPECT_THAT(node.error, ::testing::HasSubstr("this process's own segment"));
  }
  other.send(Bytes(1));
  EXPECT_EQ(other.wait(), 0) << "4: taken for dead";
  end.set_value();
  thread.join();
}

// No process here has the id, and no door the name; that says nothing of a worker on another node.
TEST(ShmLiveness, a_worker_of_another_host_is_not_taken_for_gone) {
  Node node(1);
  constexpr pid_t kNobody = 0x7fffffff;
  EXPECT_EQ(node.connect(address_elsewhere(node, kNobody, 1), 99), nullptr);
  EXPECT_EQ(node.connected, Status::unsupported);
  EXPECT_THAT(node.error, ::testing::HasSubstr("runs on another host"));
  EXPECT_EQ(node.connect(address_elsewhere(node, kNobody, 0), 99), nullptr);
  EXPECT_EQ(node.connected, Status::unreachable) << "a node that does not say which it is";
  EXPECT_EQ(node.connect(address_elsewhere(node, kNobody, host_number()), 99), nullptr);
  EXPECT_EQ(node.connected, Status::peer_failed);
  EXPECT_THAT(node.error, ::testing::HasSubstr("is gone"));
}

}  // namespace
}  // namespace stria::shm::test
