// A peer whose process is killed, by SIGKILL: its link goes down in bounded time with PEER_FAILED, what it
// sent before is delivered, and gets and puts that are under way end once. Runs where the suite has peers in
// other processes (STRIA_TEST_FAR).
#include <algorithm>
#include <deque>

#include "tests/contract/far_provider.hpp"
#include "tests/contract/key_subject.hpp"

namespace stria::contract {
namespace {

class KilledContract : public Contract {
 protected:
  KilledContract()
      : victim(open(GetParam().far_is_odd ? 1 : 2)),
        peer(open(3 - victim->worker_id())),
        link(peer->connect(*victim)) {}
  void SetUp() override {
    ASSERT_EQ(send({peer.get(), victim.get()}, *peer, link, Path::buffered, header(0), pattern(0, 8)),
              Status::ok);
    ASSERT_TRUE(drive({peer.get(), victim.get()}, [&] { return victim->received.size() == 1; }));
  }
  void expect_down() {
    ASSERT_TRUE(drive({peer.get()}, [&] { return !peer->downs.empty(); })) << "the death is not noticed";
    EXPECT_EQ(peer->downs.front()->worker, victim->worker_id());
    EXPECT_EQ(peer->downs.front()->why, Status::peer_failed);
    drive_for({peer.get()}, 50);
    EXPECT_EQ(peer->downs.size(), 1u);
  }
  std::unique_ptr<Peer> victim, peer;
  stria_link_t* link;
};

TEST_P(KilledContract, a_peer_that_sent_something_has_it_delivered_before_its_link_is_down) {
  constexpr std::uint16_t kPackets = 30;
  stria_link_t* const back = victim->ups.at(peer->worker_id());
  for (std::uint16_t i = 0; i < kPackets; ++i)
    ASSERT_EQ(send({peer.get(), victim.get()}, *victim, back, Path::buffered, header(i), pattern(i, 100)),
              Status::ok);
  ASSERT_TRUE(drive({peer.get(), victim.get()}, [&] { return peer->received.size() == kPackets; }));
  kill_far_device(victim->device());
  expect_down();
  ASSERT_EQ(peer->received.size(), kPackets);
  for (const Received& got : peer->received) EXPECT_EQ(got.payload, pattern(got.header.sequence, 100));
}

TEST_P(KilledContract, a_peer_that_is_sent_to_without_end_ends_the_sending) {
  for (const Path path : paths(*peer, link)) {
    for (std::uint16_t i = 0; i < 20; ++i) {  // the peer takes no notice of these
      const Bytes data = pattern(i, std::min<std::size_t>(limit(*peer, link, path), 1000));
      static_cast<void>(peer->try_send(link, path, header(i), data.data(), data.size()));
    }
  }
  kill_far_device(victim->device());
  const Bytes data = pattern(1, 1000);
  Status last = Status::ok;
  ASSERT_TRUE(drive({peer.get()},
                    [&] {
                      if (!peer->downs.empty()) return true;
                      last = peer->try_send(link, Path::buffered, header(1), data.data(), data.size());
                      return false;
                    }))
      << "the death is not noticed; the last send says " << to_string(last);
  expect_down();
}

/// `a` accesses the memory of `b`, which is killed.
class KilledOwnerContract : public KeySubject {
 protected:
  /// Starts accesses while the owner lives and when it is dead, until the link is down.
  void expect_all_to_end(Way way) {
    constexpr std::size_t kBytes = 65536, kMost = 64;
    const Bytes there = pattern(7, kBytes);
    const stria_provider_key_t key = key_for(contiguous(there), way == Way::get ? kRead : kWrite);
    struct Access {
      Bytes here;
      Ending ending;
      Status status = Status::no_resource;
    };
    std::deque<Access> all;
    const auto start = [&] {
      Access& one = all.emplace_back();
      one.here = pattern(way == Way::get ? 8 : 7, kBytes);
      const stria_payload_t local = contiguous(one.here);
      one.status =
          way == Way::get ? a->get(link, local, key, 0, one.ending) : a->put(link, local, key, 0, one.ending);
      if (one.status == Status::no_resource) all.pop_back();
    };
    for (int i = 0; i < 8; ++i) start();
    kill_far_device(b->device());
    ASSERT_TRUE(drive({a.get()}, [&] {
      if (!a->downs.empty()) return true;
      if (all.size() < kMost) start();
      return false;
    })) << "the death is not noticed";
    // Its keys may end before its end of the link does: an adapter refuses the access then.
    const auto may_be = [](Status how) { return how == Status::peer_failed || how == Status::access_error; };
    EXPECT_TRUE(may_be(a->downs.front()->why)) << to_string(a->downs.front()->why);
    for (const Access& one : all) {
      const bool was_open = one.status == Status::in_progress;
      EXPECT_EQ(one.ending.calls, was_open ? 1 : 0);
      const Status how = was_open ? one.ending.status : one.status;
      EXPECT_TRUE(how == Status::ok || may_be(how)) << to_string(how);
      if (way == Way::get && how == Status::ok) {
        EXPECT_EQ(one.here, there);
      }
    }
  }
};

TEST_P(KilledOwnerContract, gets_of_its_memory_end) {
  if (!can_get()) GTEST_SKIP() << lacks("gets by this link");
  expect_all_to_end(Way::get);
}

TEST_P(KilledOwnerContract, puts_into_its_memory_end) {
  if (!can_put()) GTEST_SKIP() << lacks("puts by this link");
  expect_all_to_end(Way::put);
}

/// Peers in other processes: the other half of the workers.
std::vector<Subject> far_subjects() {
  std::vector<Subject> list = subjects();
  std::erase_if(list, [](const Subject& one) { return one.far == nullptr; });
  return list;
}
/// Of which the owner of keys is one.
std::vector<Subject> far_owners() {
  std::vector<Subject> list = far_subjects();
  std::erase_if(list, [](const Subject& one) {
    return one.far_is_odd || (one.far->get == nullptr && one.far->put == nullptr);
  });
  return list;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KilledContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KilledOwnerContract);
STRIA_CONTRACT_ON(KilledContract, far_subjects());
STRIA_CONTRACT_ON(KilledOwnerContract, far_owners());

}  // namespace
}  // namespace stria::contract
