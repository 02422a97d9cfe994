// A connection to one peer, as the engines see it, and how far it has come.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transport/contract.hpp"
#include "transport/tcp/address.hpp"
#include "transport/tcp/dial.hpp"
#include "transport/tcp/events.hpp"
#include "transport/tcp/incoming.hpp"
#include "transport/tcp/outgoing.hpp"

namespace stria::tcp {

/// What the links of a device have in common.
struct Shared {
  Shared(const transport::Sink& worker_sink, const stria_services_t& worker_services,
         std::uint32_t own_eager_max) noexcept
      : sink(worker_sink),
        services(worker_services),
        eager_max(own_eager_max),
        pool(buffer_bytes(own_eager_max)) {}
  const transport::Sink& sink;
  const stria_services_t& services;
  const std::uint32_t eager_max;
  BufferPool pool;
  Events events;
  unsigned waiting_for_room = 0;  ///< links that have more to send than the system takes
};

class Link {
 public:
  enum class State : std::uint8_t {
    coming,  ///< the peer is being connected to
    up,
    dying  ///< link_down has been called, or will be
  };
  Link(Shared& shared, Address peer) noexcept;

  // The contract.
  Status eager_send(const transport::Header& header, const transport::Payload& payload) noexcept;
  void limits(transport::LinkLimits& out) const noexcept;
  bool is_coming() const noexcept { return state_ == State::coming; }

  // The device's.
  const Address& peer() const noexcept { return peer_; }
  State state() const noexcept { return state_; }
  Token token() const noexcept { return reinterpret_cast<Token>(this); }
  /// `socket` carries packets both ways from now on. `eager_max`: what the peer takes.
  void come_up(UniqueFd socket, std::uint32_t eager_max) noexcept;
  /// A link of a device to itself: what is sent by one socket is received by the other.
  void come_up(UniqueFd sends, UniqueFd receives) noexcept;
  Incoming::Outcome receive(unsigned budget) noexcept {
    return incoming_.receive(receives_ ? receives_ : socket_, cookie, budget);
  }
  /// Sends what waits, as far as there is room.
  void flush() noexcept;
  /// Sends what waits, and then the end of it. True: the peer's system has all of it.
  bool finish() noexcept;
  /// Nothing is sent or received any more.
  void cut() noexcept;

  void* cookie = nullptr;
  std::unique_ptr<Dial> dial;   ///< while the link is coming
  bool is_ready = false;        ///< it is in the list of those that have packets left
  std::uint16_t fruitless = 0;  ///< looks at the socket in a row that found nothing

 private:
  void watch() noexcept;
  void wait_for_room(bool waits) noexcept;

  Shared& shared_;
  const Address peer_;
  State state_ = State::coming;
  bool waits_for_room_ = false;
  bool has_finished_ = false;
  std::uint32_t eager_max_;
  UniqueFd socket_;
  UniqueFd receives_;  // empty, but for a link to the own device
  Outgoing outgoing_;
  Incoming incoming_;
  std::string path_;
};

}  // namespace stria::tcp
