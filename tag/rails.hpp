// Rails: the further links to a peer, by the devices of the provider that has its main link (Peer::link).
// Matched messages use the main link alone; long messages are divided among all links
// (rndv/dividing.cpp). Rails lie apart from the peers, by peer index, as few workers have several devices of
// a provider, and few of their peers send long messages.
//
// A rail is connected when the first long message of the peer is to be divided, or when the peer connects it.
// By then both sides know the main link, because a packet of the peer came by it; a rail that came first
// would be taken for the main link. Connecting never waits: a send by a rail that is not up yet finds no
// room. A rail that cannot be connected, or dies, is not connected again unless the peer does.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

#include "tag/devices.hpp"
#include "tag/farewells.hpp"
#include "tag/peer.hpp"

namespace stria::tag {

/// Threads: called with the worker's lock held.
class Rails {
 public:
  explicit Rails(const Devices& devices) noexcept : devices_(devices) {}

  /// Whether a peer whose main link is by this device can have rails: the device's provider has other
  /// devices.
  static bool are_possible(const Devices& devices, const Device& device) noexcept;

  /// The rails of the peer, which is up, by which packets may be sent. Connects rails that are missing. The
  /// list is valid until the next call.
  std::span<const transport::LinkRef* const> of(const Peer& peer) noexcept;
  /// The peer, which is up by another device, connected by this one: its link becomes a rail, if it is by the
  /// main link's provider.
  void joined(const Peer& peer, const Device& device, stria_link_t* link) noexcept;
  /// The peer's rail by that device; null: there is none.
  const transport::LinkRef* find(const Peer& peer, std::uint8_t device) const noexcept;
  /// The link of the peer's rail by that device is down: the rail is dead. Returns it, or null when there was
  /// no rail; valid until the device connects once more.
  const transport::LinkRef* take_down(const Peer& peer, std::uint8_t device) noexcept;
  /// Asks the provider what the rail can do now, and stores that.
  void renew_limits(const Peer& peer, std::uint8_t device) noexcept;
  void renew_limits(const Peer& peer, const transport::LinkRef& rail) noexcept;
  /// The peer lost its main link: forgets its rails. By each of their links that is up a farewell is owed
  /// from now on, unless `farewells` is null.
  void leave(const Peer& peer, Farewells* farewells = nullptr) noexcept;

 private:
  struct Rail {
    // foreign: up, and connected by the peer, but by another provider than the main link's; no message is
    // divided among links of two providers.
    enum class State : std::uint8_t { absent, untried, up, foreign, dead };
    State state = State::absent;
    transport::LinkRef link;
  };
  using OfPeer = std::array<Rail, STRIA_DEVICES_MAX>;  // by device number
  OfPeer* of_peer(const Peer& peer) noexcept;
  void connect(const Peer& peer, const Device& device, Rail& rail) noexcept;

  const Devices& devices_;
  std::unordered_map<std::uint32_t, std::unique_ptr<OfPeer>> of_peer_;
  std::array<const transport::LinkRef*, STRIA_DEVICES_MAX> answer_{};  // what the last of() answered
};

}  // namespace stria::tag
