// Process ids that name another process, as they do across PID namespaces: what a peer's address says is not
// believed before a nonce agrees.
#include <unistd.h>

#include "tests/transport/shm/lending.hpp"
#include "transport/shm/address.hpp"
#include "transport/shm/cma.hpp"

namespace stria::shm::test {
namespace {

/// A device in a process of its own, until the parent says something.
int stay(Child& parent, std::uint64_t id) {
  Node node(id);
  if (node.opened != Status::ok) return 2;
  parent.send(node.address());
  return parent.receive().empty() ? 3 : 0;
}

/// The address of `of`, with the process id and the descriptor of `stranger`'s.
Bytes aliased(const Bytes& of, const Bytes& stranger) {
  auto identity = decode_address(of);
  const auto other = decode_address(stranger);
  EXPECT_TRUE(identity && other);
  identity->pid = other->pid;
  identity->fd = other->fd;
  Bytes out(kAddressBytes);
  encode_address(*identity, std::span<std::byte, kAddressBytes>(out));
  return out;
}

class Aliasing : public ::testing::Test {
 protected:
  Aliasing()
      : peer_([](Child& up) { return stay(up, 2); }), stranger_([](Child& up) { return stay(up, 3); }) {
    address_ = peer_.receive();
    wrong_ = aliased(address_, stranger_.receive());
  }
  ~Aliasing() override {
    for (Child* child : {&peer_, &stranger_}) {
      child->send(Bytes(1));
      EXPECT_EQ(child->wait(), 0);
    }
  }
  Child peer_, stranger_;
  Bytes address_, wrong_;
};

TEST_F(Aliasing, a_strangers_segment_behind_the_process_id_is_refused) {
  Node node(1, {{"STRIA_SHM_ATTACH", "proc"}});
  EXPECT_EQ(node.connect(wrong_, 2), nullptr);
  EXPECT_EQ(node.connected, Status::unreachable);
  EXPECT_THAT(node.error, HasSubstr("nonce differs"));
  EXPECT_NE(node.connect(address_, 2), nullptr) << node.error;
}

TEST_F(Aliasing, the_right_process_is_found_by_its_socket) {
  Node node(1, {{"STRIA_SHM_ATTACH", "auto"}});
  stria_link_t* link = node.connect(wrong_, 2);
  ASSERT_NE(link, nullptr) << node.error;
  EXPECT_THAT(std::string(node.limits(link).path), HasSubstr("attached by socket"));
}

TEST(AliasedProcess, a_process_id_that_is_ones_own_here_is_refused) {
  Child peer([](Child& up) { return stay(up, 2); });
  Node node(1, {{"STRIA_SHM_ATTACH", "proc"}});
  EXPECT_EQ(node.connect(aliased(peer.receive(), node.address()), 2), nullptr);
  EXPECT_THAT(node.error, HasSubstr("this process's own"));
  peer.send(Bytes(1));
  EXPECT_EQ(peer.wait(), 0);
}

/// Lies at one address in this process and in its children, as it may in processes of two namespaces.
CmaProbe& shared_place() {
  static CmaProbe probe;
  return probe;
}

int hold_probe(Child& parent, std::uint64_t nonce) {
  shared_place() = {nonce, 0};
  parent.send(as_bytes(&nonce, sizeof nonce));
  if (parent.receive().empty()) return 2;
  return shared_place().scratch == 0 ? 0 : 9;
}

TEST(AliasedProcess, a_probe_of_a_stranger_is_refused_and_writes_nothing_there) {
  Child peer([](Child& up) { return hold_probe(up, 1); });
  Child stranger([](Child& up) { return hold_probe(up, 2); });
  peer.receive(), stranger.receive();
  const auto address = reinterpret_cast<std::uint64_t>(&shared_place());
  const std::string right = probe_cma(peer.pid(), address, 1);
  const std::string wrong = probe_cma(stranger.pid(), address, 1);
  peer.send(Bytes(1)), stranger.send(Bytes(1));
  const int written = peer.wait(), untouched = stranger.wait();
  if (!right.empty()) GTEST_SKIP() << right;
  EXPECT_EQ(written, 9) << "the probe of the right process writes";
  EXPECT_THAT(wrong, HasSubstr("is another one here"));
  EXPECT_EQ(untouched, 0);
}

}  // namespace
}  // namespace stria::shm::test
