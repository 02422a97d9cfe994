// Credits of one link: it sends no more packets than the peer has posted buffers for, so that no receiver is
// ever found not ready.
//
//   have_   packets that we may send            owed_   buffers of ours that are free again
//   Each packet brings what is owed back. When half of all credits are owed and nothing is sent, a packet of
//   credits alone goes; it has a buffer of its own at the peer, and the next waits until a packet of the peer
//   says that it was seen. A peer without credits has been sent such a packet or will be; a peer that got it
//   can send, and what it sends says that it got it: nobody waits for ever.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/verbs/packets.hpp"

namespace stria::verbs {

class Credits {
 public:
  /// `ours`: buffers that are posted for the peer.
  explicit Credits(std::uint32_t ours) noexcept : half_(static_cast<std::uint16_t>(std::max(1u, ours / 2))) {}
  /// The peer has so many buffers for us.
  void open(std::uint16_t peers) noexcept { have_ = most_ = peers; }
  std::uint16_t have() const noexcept { return have_; }
  void spend() noexcept { --have_; }

  /// What stands in front of the next packet, and brings back what is owed. `link`: the peer's number for it.
  Prefix prefix(PacketKind kind, std::uint32_t link) noexcept {
    const Prefix out{owed_, kind, control_seen_ ? std::uint8_t{1} : std::uint8_t{0}, link};
    owed_ = 0;
    control_seen_ = false;
    return out;
  }
  /// The packet is not sent.
  void put_back(const Prefix& prefix) noexcept {
    owed_ = prefix.credits;
    control_seen_ = prefix.control != 0;
  }
  /// What the prefix of a packet that arrived says. False: more credits than there are.
  bool take(const Prefix& prefix) noexcept {
    if (prefix.credits > most_ - have_) return false;
    have_ = static_cast<std::uint16_t>(have_ + prefix.credits);
    if (prefix.control != 0) control_out_ = false;
    if (prefix.kind == PacketKind::credit) control_seen_ = true;
    return true;
  }

  /// One of our buffers, which held a packet of the peer, is posted again.
  void owe() noexcept { ++owed_; }
  /// A packet of credits alone is due.
  bool are_due() const noexcept { return owed_ >= half_ && !control_out_; }
  void set_control_out(bool out) noexcept { control_out_ = out; }

 private:
  std::uint16_t have_ = 0;
  std::uint16_t most_ = 0;
  std::uint16_t owed_ = 0;
  std::uint16_t half_;
  bool control_out_ = false;   // ours was not seen yet
  bool control_seen_ = false;  // the peer's was, which the peer has to be told
};

}  // namespace stria::verbs
