// Two devices of the verbs provider in one process, connected over a real device, and the counts of what was
// posted. Runs in the laboratory (tools/lab), where there is a device.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "tests/contract/peer.hpp"
#include "transport/verbs/verbs.hpp"

namespace stria::verbs::test {

using namespace contract;

/// What was posted since it was made.
class Costs {
 public:
  explicit Costs(const Peer& peer) : device_(peer.device()), before_(counters_of(device_)) {}
  std::uint64_t work_requests() const { return counters_of(device_).work_requests - before_.work_requests; }
  std::uint64_t doorbells() const { return counters_of(device_).doorbells - before_.doorbells; }
  std::uint64_t closed_by_peer() const {
    return counters_of(device_).closed_by_peer - before_.closed_by_peer;
  }
  std::uint64_t closed_here() const { return counters_of(device_).closed_here - before_.closed_here; }
  std::uint64_t credit_packets() const {
    return counters_of(device_).credit_packets - before_.credit_packets;
  }

 private:
  stria_device_t* device_;
  Counters before_;
};

/// `a` connected to `b`, both ways proven.
class Pair : public ::testing::Test {
 protected:
  Pair() : a(std::make_unique<Peer>(verbs_provider(), 1)), b(std::make_unique<Peer>(verbs_provider(), 2)) {
    to_b = a->connect(*b);
    exchange(*a, to_b, *b);
    to_a = b->ups.at(1);
    exchange(*b, to_a, *a);
    a->received.clear();
    b->received.clear();
  }
  bool drive(const std::function<bool()>& done) { return contract::drive({a.get(), b.get()}, done); }
  /// As drive, but for the device's own questions to a silent peer, which are work requests too.
  bool progress_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done() && std::chrono::steady_clock::now() < end)
      if (a->progress() + b->progress() == 0) std::this_thread::yield();
    return done();
  }
  void exchange(Peer& from, stria_link_t* link, Peer& to) {
    const std::size_t before = to.received.size();
    ASSERT_EQ(send({a.get(), b.get()}, from, link, Path::buffered, header(0), pattern(1, 8)), Status::ok);
    ASSERT_TRUE(drive([&] { return to.received.size() > before; }));
  }
  bool has_windows() const { return a->has(STRIA_CAP_WINDOW_2A) || a->has(STRIA_CAP_WINDOW_2B); }
  /// A key of b's for the link to a, which a may use when this returns.
  stria_provider_key_t key_of_b(Bytes& memory, unsigned access) {
    stria_provider_key_t key{};
    EXPECT_EQ(b->fast_register(contract::contiguous(memory), access, key, to_a), Status::ok);
    exchange(*b, to_a, *a);
    return key;
  }
  Status get(Peer& from, stria_link_t* link, Bytes& local, const stria_provider_key_t& key) {
    Ending ending;
    Status status = Status::no_resource;
    EXPECT_TRUE(drive([&] {
      if (status == Status::no_resource) status = from.get(link, contract::contiguous(local), key, 0, ending);
      return status != Status::no_resource && (status != Status::in_progress || ending.calls > 0);
    }));
    return status == Status::in_progress ? ending.status : status;
  }
  std::unique_ptr<Peer> a, b;
  stria_link_t* to_b = nullptr;
  stria_link_t* to_a = nullptr;
};

}  // namespace stria::verbs::test
