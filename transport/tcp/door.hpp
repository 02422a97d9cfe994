// The listening socket of a device, and the connections that came to it and whose handshake goes on, called
// guests. A guest that has not proven that it belongs to the job may stay for a short time, and a stranger
// gets no answer. Few guests are let in at a time: further connections wait in the system's queue.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "stria/provider.h"
#include "transport/tcp/events.hpp"
#include "transport/tcp/guest.hpp"

namespace stria::tcp {

class Door {
 public:
  /// `make_room`: as in Dialling.
  Door(const Handshake& handshake, Events& events, const stria_services_t& services,
       std::function<bool()> make_room)
      : handshake_(handshake), events_(events), services_(services), make_room_(std::move(make_room)) {}
  /// Begins to listen. Events of the listening socket have `door_token`, those of guests `guest_token`.
  Result<void> open(const PortRange& ports, Token door_token, Token guest_token);
  std::uint16_t port() const noexcept { return port_; }
  /// Stops listening, and drops all guests.
  void close() noexcept;

  /// Decides about a guest that is proven, by Guest::decide(). False: nothing is decided yet, and the guest
  /// waits.
  using Decide = std::function<bool(Guest&)>;
  /// Takes over a guest that was answered with Verdict::welcome.
  using Welcome = std::function<void(Guest&)>;
  /// Accepts connections, and advances all guests as far as possible without waiting.
  void serve(const Decide& decide, const Welcome& welcome) noexcept;
  /// Calls act(address) once for each guest that asks by silence. `now`: of now_ms().
  template <class Act>
  void for_each_question(std::uint64_t now, Act&& act) {
    for (const auto& guest : guests_)
      if (guest->asks_by_silence(now)) act(guest->ip());
  }
  /// Whether there are guests: their time limits have to be looked after.
  bool has_guests() const noexcept { return !guests_.empty(); }

 private:
  bool serve_one(Guest& guest, const Decide& decide, const Welcome& welcome);
  void let_in();
  bool turn_away() noexcept;

  const Handshake& handshake_;
  Events& events_;
  const stria_services_t& services_;
  const std::function<bool()> make_room_;
  UniqueFd door_;
  UniqueFd spare_;  // closed, to accept and refuse a connection when the process has no descriptor left
  std::uint16_t port_ = 0;
  Token guest_token_ = 0;
  std::vector<std::unique_ptr<Guest>> guests_;
  bool told_of_strangers_ = false;
  bool told_of_descriptors_ = false;
};

}  // namespace stria::tcp
