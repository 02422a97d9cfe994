// A worker with 100 000 peers that all talk to it: what a message costs is the same as with 100. Asserted are
// counts, which are the same in every run: allocations, bytes, links that the fabric looked at, keys that
// matching compared. Times are printed.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#include "stria/stria.h"
#include "tag/match_table.hpp"
#include "tests/rounds.hpp"
#include "tests/tag/counted_memory.hpp"
#include "transport/fake/control.hpp"

namespace stria::test {
namespace {

constexpr std::uint64_t kFew = 100;
std::uint64_t many() {
  return static_cast<std::uint64_t>(rounds(100000));
}

/// One worker, the hub, with an endpoint to each of many workers, which are real ones and have one to the
/// hub.
class Hub {
 public:
  explicit Hub(std::uint64_t peers) : fabric_(fake::make_fabric(options())) {
    const fake::UseFabric use(fabric_);
    for (const auto& [name, value] :
         {std::array{"STRIA_PROVIDERS", "fake"}, std::array{"STRIA_CLOSE_TIMEOUT_MS", "0"},
          std::array{"STRIA_LIVENESS_MS", "3600000"}})
      EXPECT_EQ(stria_config_set(name, value, "test"), STRIA_OK) << stria_last_error();
    EXPECT_EQ(stria_context_open(nullptr, &context_), STRIA_OK) << stria_last_error();
    EXPECT_EQ(stria_worker_open(context_, nullptr, &hub_), STRIA_OK) << stria_last_error();
    peers_.resize(peers);
    for (Peer& peer : peers_) {
      EXPECT_EQ(stria_worker_open(context_, nullptr, &peer.worker), STRIA_OK) << stria_last_error();
      peer.to_hub = endpoint(peer.worker, hub_);
    }
    const std::size_t before = counted::bytes();
    for (Peer& peer : peers_) peer.of_hub = endpoint(hub_, peer.worker);
    idle_bytes = static_cast<double>(counted::bytes() - before) / static_cast<double>(peers);
  }
  ~Hub() {
    stria_worker_close(hub_);
    while (!peers_.empty()) {
      stria_worker_close(peers_.back().worker);
      peers_.pop_back();
    }
    stria_context_close(context_);
  }
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  /// A message from that peer to the hub.
  void send(std::uint64_t from, std::uint64_t tag, std::uint64_t value) {
    stria_send_t send{};
    send.base = &value;
    send.count = sizeof value;
    send.tag = tag;
    ASSERT_EQ(stria_send(peers_[from].to_hub, &send, &sent_), STRIA_OK) << stria_last_error();
  }
  /// Receives of one peer, or of any.
  static constexpr std::uint64_t kAny = ~std::uint64_t{0};
  stria_status_t receive(std::uint64_t from, std::uint64_t tag, std::uint64_t& value,
                         stria_request_t& request) {
    stria_recv_t recv{};
    recv.base = &value;
    recv.count = sizeof value;
    recv.match = {from == kAny ? nullptr : peers_[from].of_hub, tag, 0};
    return stria_recv(hub_, &recv, &request);
  }
  unsigned progress() { return stria_worker_progress(hub_); }
  std::uint64_t looks() { return fake::statistics(*fabric_).looks; }

  double idle_bytes = 0;

 private:
  struct Peer {
    stria_worker_t* worker = nullptr;
    stria_endpoint_t* to_hub = nullptr;
    stria_endpoint_t* of_hub = nullptr;
  };
  static fake::FabricOptions options() {
    fake::FabricOptions out;
    out.delay = 0;
    out.event_fd = false;  // 100 000 descriptors are too many
    out.pio_windows = 16;  // scarce, as in shm
    return out;
  }
  static stria_endpoint_t* endpoint(stria_worker_t* from, stria_worker_t* to) {
    std::array<char, STRIA_ADDRESS_MAX> address;
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = address.data();
    params.address_bytes = address.size();
    EXPECT_EQ(stria_worker_address(to, address.data(), &params.address_bytes), STRIA_OK);
    stria_endpoint_t* out = nullptr;
    EXPECT_EQ(stria_endpoint_open(from, &params, &out), STRIA_OK) << stria_last_error();
    return out;
  }

  std::shared_ptr<fake::Fabric> fabric_;
  stria_context_t* context_ = nullptr;
  stria_worker_t* hub_ = nullptr;
  std::vector<Peer> peers_;
  stria_request_t sent_;
};

/// What the hub spent on a message.
struct Cost {
  double allocations = 0, bytes = 0, looks = 0, ns = 0;
};

/// Messages from random peers: of three, one is expected, one unexpected, one received from any source.
Cost cost_of_messages(Hub& hub, std::uint64_t peers, std::uint64_t messages) {
  std::mt19937_64 random(5);
  Cost cost;
  std::uint64_t allocations = 0;
  std::chrono::duration<double, std::nano> time{0};
  const std::uint64_t looks = hub.looks();
  const std::size_t bytes = counted::bytes();
  for (std::uint64_t i = 0; i < messages; ++i) {
    const std::uint64_t from = random() % peers;
    const std::uint64_t tag = 1000 + random() % 50;
    stria_request_t request;
    std::uint64_t got = 0;
    stria_status_t status = STRIA_IN_PROGRESS;
    const bool expected = i % 3 == 0;
    const auto measure = [&](auto&& step) {
      const std::uint64_t made = counted::allocations();
      const auto begin = std::chrono::steady_clock::now();
      step();
      time += std::chrono::steady_clock::now() - begin;
      allocations += counted::allocations() - made;
    };
    if (expected) measure([&] { status = hub.receive(from, tag, got, request); });
    hub.send(from, tag, i);
    measure([&] {
      hub.progress();
      hub.progress();  // finds nothing
      if (!expected) status = hub.receive(i % 3 == 1 ? from : Hub::kAny, tag, got, request);
    });
    if (expected) {
      stria_info_t info{};
      status = stria_request_test(&request, &info);
    }
    EXPECT_EQ(status, STRIA_OK);
    EXPECT_EQ(got, i);
  }
  const auto per_message = [&](auto total) {
    return static_cast<double>(total) / static_cast<double>(messages);
  };
  cost.allocations = per_message(allocations);
  cost.bytes = per_message(static_cast<std::int64_t>(counted::bytes() - bytes));
  cost.looks = per_message(hub.looks() - looks);
  cost.ns = time.count() / static_cast<double>(messages);
  return cost;
}

Cost cost_with(std::uint64_t peers) {
  std::vector<stria_request_t> waiting(peers);  // until the hub is closed
  Hub hub(peers);
  // Of few peers the first chunk of everything is a large part.
  if (peers >= 1000) {
    EXPECT_LE(hub.idle_bytes, 256) << peers << " peers";
  }
  // A receive of each peer waits all the time: that of a tag which nobody sends. Everybody says a word first.
  std::uint64_t got = 0, never = 0;
  for (std::uint64_t i = 0; i < peers; ++i)
    EXPECT_EQ(hub.receive(i, 1, never, waiting[i]), STRIA_IN_PROGRESS);
  const std::size_t before = counted::bytes();
  stria_request_t request;
  for (std::uint64_t i = 0; i < peers; ++i) {
    hub.send(i, 2, i);
    hub.progress();
    EXPECT_EQ(hub.receive(i, 2, got, request), STRIA_OK);
    EXPECT_EQ(got, i);
  }
  const double connected = static_cast<double>(counted::bytes() - before) / static_cast<double>(peers);
  // 586 of as many as usual. Of fewer, tables that grow by doubling may just have grown.
  if (peers >= 100000) {
    EXPECT_LE(connected, 620) << "a connected peer, both ends of the fake link";
  }
  cost_of_messages(hub, peers, 100);
  const Cost cost = cost_of_messages(hub, peers, 6000);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "%6lu peers: idle %.0f bytes each, connected %.0f more (both ends of the fake link); a message: %.2f "
      "allocations, %.2f bytes, %.2f looks, %.0f ns; the process %ld MiB\n",
      static_cast<unsigned long>(peers), hub.idle_bytes, connected, cost.allocations, cost.bytes, cost.looks,
      cost.ns, usage.ru_maxrss / 1024);
  return cost;
}

TEST(ManyPeers, cost_a_message_nothing) {
  const Cost few = cost_with(kFew);
  const Cost all = cost_with(many());
  EXPECT_EQ(few.allocations, 0);
  EXPECT_EQ(all.allocations, 0);
  EXPECT_EQ(few.bytes, 0);
  EXPECT_EQ(all.bytes, 0);
  EXPECT_EQ(all.looks, few.looks);
}

/// Items of a match table that count how many keys are compared.
struct CountingItems {
  using Ref = std::uint32_t;
  static constexpr Ref kNone = ~Ref{0};
  static constexpr bool kHasPrev = false;
  struct Item {
    Ref next, chain;
    tag::MatchKey key;
  };

  Item* items;
  std::uint64_t* compared;

  Ref& next(Ref ref) const noexcept { return items[ref].next; }
  Ref& chain(Ref ref) const noexcept { return items[ref].chain; }
  tag::MatchKey key_of(Ref ref) const noexcept { return items[ref].key; }
  bool has_key(Ref ref, const tag::MatchKey& key) const noexcept {
    ++*compared;
    return items[ref].key == key;
  }
};

/// With a receive waiting for each of the keys, of which f makes the i-th.
double keys_compared(std::uint32_t keys, tag::MatchKey (*f)(std::uint32_t i)) {
  std::vector<CountingItems::Item> items(keys);
  std::uint64_t compared = 0;
  const CountingItems counting{items.data(), &compared};
  tag::MatchTable<CountingItems> table;
  EXPECT_TRUE(table.open());
  for (std::uint32_t i = 0; i < keys; ++i) {
    items[i].key = f(i);
    table.push(counting, i, items[i].key);
  }
  std::mt19937 random(3);
  compared = 0;
  constexpr std::uint32_t kMessages = 20000;
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    const auto wanted = static_cast<std::uint32_t>(random() % keys);
    const tag::MatchKey key = items[wanted].key;
    const std::uint32_t found = table.take(counting, key);
    EXPECT_EQ(found, wanted);
    table.push(counting, found, key);
  }
  return static_cast<double>(compared) / (2 * kMessages);
}

TEST(ManyPeers, are_matched_by_comparing_one_or_two_keys) {
  const auto sources = [](std::uint32_t i) { return tag::MatchKey{i, 7}; };
  const auto few_tags_of_sources = [](std::uint32_t i) { return tag::MatchKey{i / 4, 16 * (i % 4)}; };
  const auto tags = [](std::uint32_t i) { return tag::MatchKey{3, i}; };
  const auto multiples = [](std::uint32_t i) { return tag::MatchKey{3, 8 * i}; };
  const auto contexts = [](std::uint32_t i) { return tag::MatchKey{i % 50, (i / 50ull) << 32 | 5}; };
  for (const std::uint32_t keys : {100u, 1000u, 10000u, 100000u}) {
    const std::array compared = {keys_compared(keys, sources), keys_compared(keys, few_tags_of_sources),
                                 keys_compared(keys, tags), keys_compared(keys, multiples),
                                 keys_compared(keys, contexts)};
    std::printf(
        "%6u receives, keys compared: %.2f of sources, %.2f of sources and tags, %.2f of tags, %.2f "
        "of tags of eight, %.2f of communicators\n",
        keys, compared[0], compared[1], compared[2], compared[3], compared[4]);
    for (std::size_t i = 0; i < compared.size(); ++i) EXPECT_LT(compared[i], 2) << keys << ", pattern " << i;
  }
}

}  // namespace
}  // namespace stria::test
