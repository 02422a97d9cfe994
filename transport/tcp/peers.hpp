// How links come up: the worker's calls of connect(), dials that are under way, and guests at the door.
//
// When two devices dial each other at the same time, the connection of the device with the smaller worker id
// counts. The other device's connection waits at the door of the device with the smaller id, and is taken if
// that device's own dial fails.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "transport/tcp/bulk_dials.hpp"
#include "transport/tcp/door.hpp"
#include "transport/tcp/handshake.hpp"
#include "transport/tcp/interfaces.hpp"
#include "transport/tcp/links.hpp"
#include "transport/tcp/reconnections.hpp"

namespace stria::tcp {

class Peers {
 public:
  struct Parts {
    Shared& shared;
    Links& links;
    const Handshake& handshake;
    const Address& self;
    std::span<const std::byte> secret;
    std::uint32_t connect_ms;
  };
  Peers(const Parts& parts, Token door, Token handshakes);

  Result<void> open(const PortRange& ports) { return door_.open(ports, door_token_, dialling_by_.token); }
  std::uint16_t port() const noexcept { return door_.port(); }
  /// Sets the addresses of this host. `own`: by which a peer's addresses are ordered (order_candidates()).
  /// `usable`: those of them that peers may use.
  void know(std::vector<OwnAddress> own, std::vector<OwnAddress> usable) noexcept {
    own_ = std::move(own);
    bulk_dials_.know(std::move(usable));
  }

  /// Finds the link to the device that gave `address`, or begins one: the contract's connect.
  Result<Link*> connect(std::span<const std::byte> address, void* cookie);
  /// Advances dials, guests and reconnections. To be called when something came for one of them, or the timer
  /// rang. Makes upcalls.
  void step() noexcept;
  /// Begins the bulk connections of the links in Shared::want_bulk. Makes upcalls.
  void make_bulk() noexcept;
  /// Begins to reconnect the links in Shared::lost, and advances all reconnections. Makes upcalls.
  void connect_anew() noexcept;
  /// Drops all that refers to a link whose memory is about to go.
  void forget(const Link& link) noexcept;
  /// Whether dials, reconnections or guests are under way.
  bool are_busy() const noexcept {
    return !dialing_.empty() || !bulk_dials_.is_empty() || !reconnections_.is_empty() || door_.has_guests();
  }
  /// Ends all dials, and refuses new links; links that are up or lost stay. From now on connect_anew() makes
  /// no upcalls.
  void begin_closing() noexcept;
  /// Stops listening, and gives up lost links.
  void close() noexcept;

 private:
  struct GivenUp {
    Link* link;
    Status why;
    std::string reason;
  };
  Result<Link*> reach_itself(Address self, void* cookie);
  void advance_dials(std::uint64_t now);
  static bool takes_bulk(Link* link) noexcept;
  void add_bulk(Guest& guest);
  void go_on(Guest& guest);
  void answer_questions(std::uint64_t now) noexcept;
  std::optional<Decision> decide_more(Link* known);
  bool decide(Guest& guest);
  void welcome(Guest& guest);
  void replace(Link& link, const char* why) noexcept;
  void report_up(Link& link) noexcept;
  void set_timer(std::uint64_t now) noexcept;

  const Parts parts_;
  const Token door_token_;
  const Dialling dialling_by_;
  Door door_;
  std::vector<OwnAddress> own_;
  std::vector<Link*> dialing_;
  BulkDials bulk_dials_;
  Reconnections reconnections_;
  std::vector<GivenUp> given_up_;  // links whose dial has failed; their peer may still be at the door
  bool closing_ = false;
};

}  // namespace stria::tcp
