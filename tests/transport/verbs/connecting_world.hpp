// Devices of the provider, each on a stand-in for an adapter, and a stand-in for the connection manager
// between them: they connect as over a network, by threads of their own.
#pragma once

#include <sched.h>

#include <chrono>
#include <functional>
#include <map>

#include "tests/transport/verbs/connection_manager.hpp"
#include "tests/transport/verbs/side.hpp"
#include "transport/fingerprint.hpp"
#include "transport/wire.hpp"

namespace stria::verbs::test {

class ConnectingWorld : public ::testing::Test {
 protected:
  /// STRIA_VERBS_CONNECT_MS: longer than any test, or over soon.
  enum class Patience { long_enough, short_one };
  /// A device of this worker, found at the port of the same number.
  Side& open(std::uint64_t worker, Patience patience = Patience::long_enough, std::uint32_t links = 4) {
    StandIn& stand_in = stand_ins[worker];
    auto adapter = stand_in.adapter();
    adapter->max_links = links;
    EXPECT_TRUE(adapter->use_strided_keys(StandIn::library()));
    manager.add_host(port_of(worker), *adapter);
    auto& side = sides[worker] = std::make_unique<Side>(worker, std::move(adapter), "64",
                                                        patience == Patience::short_one ? "100" : "600000");
    EXPECT_TRUE(side->device->connector().start().has_value());
    return *side;
  }
  static std::uint16_t port_of(std::uint64_t worker) { return static_cast<std::uint16_t>(worker); }
  /// The cookie of the link to that worker is the address of what keeps it.
  Link* connect(Side& from, std::uint64_t to) {
    const Address address = ConnectionManager::address_of(port_of(to), to);
    auto link = from.device->connect(&address, sizeof address, cookie_of(to), 0);
    EXPECT_TRUE(link.has_value()) << link.error().context;
    return link.has_value() ? *link : nullptr;
  }
  void* cookie_of(std::uint64_t worker) { return &cookies[worker]; }
  void progress() {
    for (auto& [worker, side] : sides)
      if (side->device != nullptr) {
        side->device->progress(64);
        side->device->check();
      }
  }
  /// Progresses all devices until it is so, and not for ever.
  bool drive(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done() && std::chrono::steady_clock::now() < end) {
      progress();
      ::sched_yield();
    }
    return done();
  }
  static Status send(Link& link, std::uint16_t sequence) {
    return link.pio_send(contract::header(sequence), nullptr, 0);
  }
  /// Whether a packet sent by the link comes out at `to`.
  bool exchange(Link& link, Side& to, std::uint16_t sequence) {
    return drive([&] { return send(link, sequence) == Status::ok; }) &&
           drive([&] { return !to.arrived.empty() && to.arrived.back() == sequence; });
  }
  /// What a peer that the test itself plays says to `worker`.
  static Hello hello_of(std::uint64_t peer, std::uint64_t worker) {
    constexpr std::string_view kSecret = "a secret of sixteen";
    const auto* const text = reinterpret_cast<const std::byte*>(kSecret.data());
    const std::vector<std::byte> secret(text, text + kSecret.size());
    return {
        kHelloMagic, kVersion, wire::kVersion, 32, peer, worker, transport::fingerprint(secret, peer, worker),
        0,           8192};
  }
  void TearDown() override {
    sides.clear();
    for (const auto& [worker, stand_in] : stand_ins) EXPECT_EQ(stand_in.misuse, "");
  }

  ConnectionManager manager;
  std::map<std::uint64_t, StandIn> stand_ins;
  std::map<std::uint64_t, std::unique_ptr<Side>> sides;
  std::map<std::uint64_t, int> cookies;
};

}  // namespace stria::verbs::test
