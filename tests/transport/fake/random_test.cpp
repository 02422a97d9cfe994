// Thousands of seeded worlds with random trouble. The model is a queue for each sender, receiver and path:
// whatever is delivered is the front of one of these, byte for byte, and what nobody lost is delivered in the
// end.
//
// STRIA_TEST_SEED=n runs one seed; STRIA_TEST_SECONDS=s runs longer than the usual few seconds.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <random>
#include <tuple>

#include "tests/contract/peer.hpp"
#include "tests/rounds.hpp"
#include "transport/fake/control.hpp"
#include "transport/fake/fake.hpp"

namespace stria::fake {
namespace {

using contract::Bytes;
using contract::Path;
using contract::Peer;

class Campaign {
 public:
  explicit Campaign(std::uint64_t seed) : random_(seed), fabric_(make_fabric(options(seed))) {
    const UseFabric use(fabric_);
    const std::size_t count = 2 + below(3);
    for (std::size_t i = 0; i < count; ++i) {
      peers_.push_back(std::make_unique<Peer>(fake_provider(), i + 1));
      Peer& me = *peers_.back();
      me.on_peer_up = [this, &me](std::uint64_t worker, stria_link_t* link) {
        links_[{me.worker_id(), worker}] = link;
      };
      me.on_deliver = [this, &me](const contract::Received& got) { delivered(me, got); };
      me.places = [this](const stria_header_t& header, std::uint32_t bytes, stria_payload_t& place) {
        if (one_in(4)) return false;
        place = contract::contiguous(rooms_[header.tag].emplace_back(bytes).data(), bytes);
        return true;
      };
    }
  }

  void run() {
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) act();
    finish();
  }

 private:
  using Pair = std::pair<std::uint64_t, std::uint64_t>;  // from, to
  struct Expected {
    std::uint64_t id;
    std::size_t bytes;
  };

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  Peer& any() { return *peers_[below(peers_.size())]; }
  bool alive(std::uint64_t worker) const { return worker != dead_; }

  FabricOptions options(std::uint64_t seed) {
    FabricOptions made;
    made.seed = seed;
    made.delay = static_cast<std::uint32_t>(below(12));
    made.queue = static_cast<std::uint32_t>(1 + below(20));
    made.no_resource_percent = one_in(2) ? 0 : static_cast<std::uint32_t>(below(80));
    made.connect_delay = one_in(2) ? 0 : static_cast<std::uint32_t>(below(10));
    made.async_percent = static_cast<std::uint32_t>(below(101));
    made.death_seen_by_check_only = one_in(3);
    made.pio = !one_in(4);
    made.pio_windows = one_in(4) ? 1 : 64;
    made.pio_max = static_cast<std::uint32_t>(16 + below(200));
    made.pio_window_bytes = made.pio_max + 16 + static_cast<std::uint32_t>(below(1000));
    made.eager_max = static_cast<std::uint32_t>(64 + below(2000));
    made.max_keys = static_cast<std::uint32_t>(1 + below(8));
    made.zcopy = !one_in(4);
    made.zcopy_max = static_cast<std::uint32_t>(1 + below(5000));
    made.zcopy_copies_percent = static_cast<std::uint32_t>(below(101));
    made.places_percent = static_cast<std::uint32_t>(below(101));
    return made;
  }

  void act() {
    const std::uint64_t choice = below(100);
    if (choice < 50) {
      send();
    } else if (choice < 85) {
      any().progress(static_cast<unsigned>(1 + below(5)));
    } else if (choice < 88) {
      connect(any(), any());
    } else if (choice < 92) {
      block(*fabric_, 1 + below(peers_.size()), 1 + below(peers_.size()), one_in(2));
    } else if (choice < 99) {
      read();
    } else if (dead_ == 0 && one_in(4)) {
      dead_ = any().worker_id();
      kill(*fabric_, dead_, one_in(2) ? Loss::random : Loss::none);
    } else {
      any().check();
    }
  }

  stria_link_t* connect(Peer& from, const Peer& to) {
    if (!alive(from.worker_id()) || !alive(to.worker_id())) return nullptr;
    stria_link_t* link = from.connect(to);
    stria_link_t*& known = links_[{from.worker_id(), to.worker_id()}];
    EXPECT_TRUE(known == nullptr || known == link) << "two links to one worker";
    return known = link;
  }

  bool usable(const Peer& from, std::uint64_t to) const {
    for (const contract::Contact* down : from.downs)
      if (down->worker == to) return false;
    return alive(from.worker_id());
  }

  stria_link_t* link_between(Peer& from, Peer& to) {
    if (!usable(from, to.worker_id())) return nullptr;
    const auto at = links_.find({from.worker_id(), to.worker_id()});
    return at != links_.end() ? at->second : connect(from, to);
  }

  void send() {
    Peer& from = any();
    Peer& to = any();
    stria_link_t* link = link_between(from, to);
    if (link == nullptr) return;
    const auto limits = from.limits(link);
    const Path path = limits.pio_max > 0 && one_in(2) ? Path::pio : Path::buffered;
    if (path == Path::buffered && limits.zcopy_max > 0 && one_in(2)) {
      send_without_copy(from, to, link, 1 + below(limits.zcopy_max));
      return;
    }
    const std::size_t bytes = below((path == Path::pio ? limits.pio_max : limits.eager_max) + 1);
    const std::uint64_t id = next_id_++;
    const Bytes data = contract::pattern(id, bytes);
    const Status status = from.try_send(link, path, contract::header(static_cast<std::uint16_t>(id), id),
                                        data.data(), data.size());
    if (status == Status::ok) expected_[{from.worker_id(), to.worker_id(), path}].push_back({id, bytes});
    if (status != Status::ok && status != Status::no_resource) {
      EXPECT_TRUE(status == Status::peer_failed && to.worker_id() == dead_) << to_string(status);
    }
  }

  /// Its memory is written anew at once when it ends.
  struct ZcopySend : contract::Ending {
    Bytes memory;
    std::uint64_t from = 0, to = 0;
  };
  void send_without_copy(Peer& from, const Peer& to, stria_link_t* link, std::size_t bytes) {
    const std::uint64_t id = next_id_++;
    ZcopySend& one = zcopy_sends_.emplace_back();
    one.memory = contract::pattern(id, bytes);
    one.from = from.worker_id();
    one.to = to.worker_id();
    one.base.done = [](stria_completion_t* self, stria_status_t how) {
      auto& ended = *static_cast<ZcopySend*>(reinterpret_cast<contract::Ending*>(self));
      ++ended.calls;
      ended.status = static_cast<Status>(how);
      std::fill(ended.memory.begin(), ended.memory.end(), std::byte{0xdd});
    };
    const Status status = from.zcopy_send(link, contract::header(static_cast<std::uint16_t>(id), id),
                                          contract::contiguous(one.memory), one);
    if (status == Status::ok || status == Status::in_progress)
      expected_[{one.from, one.to, Path::buffered}].push_back({id, bytes});
    else
      EXPECT_TRUE(status == Status::no_resource || one.to == dead_) << to_string(status);
    if (status != Status::in_progress) zcopy_sends_.pop_back();
  }

  void delivered(Peer& at, const contract::Received& got) {
    EXPECT_TRUE(alive(at.worker_id())) << "a packet for the dead";
    auto& queue = expected_[{got.from->worker, at.worker_id(), got.path}];
    ASSERT_FALSE(queue.empty()) << "a packet that nobody sent, or twice";
    EXPECT_EQ(got.header.tag, queue.front().id);
    EXPECT_EQ(got.placed ? rooms_.at(got.header.tag).front() : got.payload,
              contract::pattern(queue.front().id, queue.front().bytes));
    queue.pop_front();
  }

  /// A get through a key that may be fine, stale, or ended while the get is under way.
  void read() {
    Peer& from = any();
    Peer& to = any();
    stria_link_t* link = link_between(from, to);
    if (link == nullptr || !alive(to.worker_id())) return;
    Bytes remote = contract::pattern(next_id_++, 100), local(100);
    stria_provider_key_t key{};
    ASSERT_EQ(to.fast_register(contract::contiguous(remote), STRIA_ACCESS_REMOTE_READ, key), Status::ok);
    const bool stale = one_in(3);
    if (stale) {
      ASSERT_EQ(to.invalidate(key), Status::ok);
    }
    contract::Ending ending;
    Status status = from.get(link, contract::contiguous(local), key, 0, ending);
    bool ended_under_way = false;
    if (status == Status::in_progress) {
      ended_under_way = !stale && one_in(3);
      if (ended_under_way) {
        ASSERT_EQ(to.invalidate(key), Status::ok);
      }
      for (int i = 0; i < 100 && ending.calls == 0; ++i) from.progress();
      ASSERT_EQ(ending.calls, 1);
      status = ending.status;
    }
    if (status != Status::no_resource) {
      EXPECT_EQ(status, stale || ended_under_way ? Status::access_error : Status::ok);
      EXPECT_EQ(local, status == Status::ok ? remote : Bytes(100));
    }
    if (!stale && !ended_under_way) {
      ASSERT_EQ(to.invalidate(key), Status::ok);
    }
  }

  void finish() {
    for (std::uint64_t from = 1; from <= peers_.size(); ++from)
      for (std::uint64_t to = 1; to <= peers_.size(); ++to) block(*fabric_, from, to, false);
    for (int round = 0; round < 2000; ++round)
      for (auto& peer : peers_) peer->progress();
    for (auto& peer : peers_) peer->check();
    for (const auto& [way, queue] : expected_) {
      const auto [from, to, path] = way;
      if (alive(from) && alive(to)) {
        EXPECT_TRUE(queue.empty()) << queue.size() << " lost from " << from << " to " << to;
      }
    }
    for (const ZcopySend& one : zcopy_sends_) {
      EXPECT_EQ(one.calls, alive(one.from) ? 1 : one.calls);
      EXPECT_LE(one.calls, 1);
      if (one.calls == 1 && one.to != dead_) {
        EXPECT_EQ(one.status, Status::ok);
      }
    }
    EXPECT_EQ(statistics(*fabric_).in_flight, 0u);
    for (auto& peer : peers_) {
      EXPECT_EQ(valid_keys(*fabric_, peer->worker_id()), 0u);
      const bool linked = links_.count({peer->worker_id(), dead_}) != 0 && peer->worker_id() != dead_;
      EXPECT_EQ(peer->downs.size(), alive(peer->worker_id()) && linked ? 1u : 0u);
    }
  }

  std::mt19937_64 random_;
  std::shared_ptr<Fabric> fabric_;
  std::map<Pair, stria_link_t*> links_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, Path>, std::deque<Expected>> expected_;
  std::deque<ZcopySend> zcopy_sends_;
  std::map<std::uint64_t, std::deque<Bytes>> rooms_;  // of payloads that are placed, by their packets' tags
  std::uint64_t next_id_ = 1;
  std::uint64_t dead_ = 0;  // 0: nobody
  std::vector<std::unique_ptr<Peer>> peers_;
};

TEST(FakeRandom, every_world_delivers_what_was_sent_whatever_happens) {
  const auto only = static_cast<std::uint64_t>(test::from_environment("STRIA_TEST_SEED", 0));
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::seconds(test::from_environment("STRIA_TEST_SECONDS", 5));
  std::uint64_t seed = only != 0 ? only : 1;
  for (; !HasFailure(); ++seed) {
    SCOPED_TRACE("STRIA_TEST_SEED=" + std::to_string(seed));
    Campaign(seed).run();
    if (only != 0 || std::chrono::steady_clock::now() > end) break;
  }
  if (only == 0) std::printf("[ seeds    ] 1 to %llu\n", static_cast<unsigned long long>(seed));
}

}  // namespace
}  // namespace stria::fake
