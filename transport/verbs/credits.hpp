// Credits of one link: this side sends no more packets than the peer has posted buffers for, so that an
// adapter always finds a receive buffer.
//
//   have_   packets that this side may send     owed_   buffers of this side that are posted again, and of
//                                                       which the peer does not know yet
//   Each packet carries what is owed to the peer. When half of all credits are owed and nothing is sent, a
//   packet of credits alone goes. That packet has a buffer of its own at the peer, so the next one waits
//   until a packet of the peer says that this one was seen. A peer without credits has been sent a packet of
//   credits or will be; a peer that received it can send, and its packets say that it was received. So no
//   side waits for ever.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/verbs/packets.hpp"

namespace stria::verbs {

class Credits {
 public:
  /// `ours`: buffers that this side has posted for the peer.
  explicit Credits(std::uint32_t ours) noexcept : half_(static_cast<std::uint16_t>(std::max(1u, ours / 2))) {}
  /// The connection is up, and the peer has posted `peers` buffers for this side.
  void open(std::uint16_t peers) noexcept { have_ = most_ = peers; }
  std::uint16_t have() const noexcept { return have_; }
  void spend() noexcept { --have_; }

  /// Makes the prefix of the next packet, which carries what is owed. `link`: the peer's number for the link.
  Prefix prefix(PacketKind kind, std::uint32_t link) noexcept {
    const Prefix out{owed_, kind, control_seen_ ? std::uint8_t{1} : std::uint8_t{0}, link};
    owed_ = 0;
    control_seen_ = false;
    return out;
  }
  /// The packet of this prefix is not sent: what it carried is owed again.
  void put_back(const Prefix& prefix) noexcept {
    owed_ = prefix.credits;
    control_seen_ = prefix.control != 0;
  }
  /// Takes the credits in the prefix of a packet that arrived. False: too many for the peer's buffers.
  bool take(const Prefix& prefix) noexcept {
    if (prefix.credits > most_ - have_) return false;
    have_ = static_cast<std::uint16_t>(have_ + prefix.credits);
    if (prefix.control != 0) control_out_ = false;
    if (prefix.kind == PacketKind::credit) control_seen_ = true;
    return true;
  }

  /// A buffer of this side, which held a packet of the peer, is posted again.
  void owe() noexcept { ++owed_; }
  /// Whether a packet of credits alone is due.
  bool are_due() const noexcept { return owed_ >= half_ && !control_out_; }
  void set_control_out(bool out) noexcept { control_out_ = out; }

 private:
  std::uint16_t have_ = 0;
  std::uint16_t most_ = 0;  // buffers of the peer
  std::uint16_t owed_ = 0;
  std::uint16_t half_;         // of the buffers of this side
  bool control_out_ = false;   // the peer has not said yet that it saw this side's packet of credits
  bool control_seen_ = false;  // the peer's packet of credits came, and the peer has not been told
};

}  // namespace stria::verbs
