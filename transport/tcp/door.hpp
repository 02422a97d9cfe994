// Where a device listens, and who is at the door. A stranger gets no answer; as long as it has not proven
// that it belongs to the job it may stay for a short time, and few may at a time: the others wait in the
// queue of the system.
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
  /// `door_token` tells of connections that come, `guest_token` of what guests do.
  Result<void> open(const PortRange& ports, Token door_token, Token guest_token);
  std::uint16_t port() const noexcept { return port_; }
  void close() noexcept;

  /// What becomes of a guest that is proven: true, it has been decided; false, later.
  using Decide = std::function<bool(Guest&)>;
  /// A guest that was answered with a welcome: its socket becomes a link's.
  using Welcome = std::function<void(Guest&)>;
  void serve(const Decide& decide, const Welcome& welcome) noexcept;
  /// Of each guest that asks by silence, once.
  template <class Act>
  void for_each_question(std::uint64_t now, Act&& act) {
    for (const auto& guest : guests_)
      if (guest->asks_by_silence(now)) act(guest->ip());
  }
  /// Somebody is here, so time passes for them.
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
  UniqueFd spare_;  // given up to refuse a connection when the process has no descriptor left
  std::uint16_t port_ = 0;
  Token guest_token_ = 0;
  std::vector<std::unique_ptr<Guest>> guests_;
  bool told_of_strangers_ = false;
  bool told_of_descriptors_ = false;
};

}  // namespace stria::tcp
