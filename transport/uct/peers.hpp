// Brings links up and tells peers of their end: handles the worker's calls of connect and the control
// messages of peers. A control message that UCX has no room for stays owed to the peer (Link::owed); a later
// step() sends it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "transport/contract.hpp"
#include "transport/uct/ends.hpp"
#include "transport/uct/handshake.hpp"
#include "transport/uct/joiner.hpp"
#include "transport/uct/links.hpp"
#include "transport/uct/shared.hpp"

namespace stria::uct {

class Peers {
 public:
  struct Parts {
    Shared& shared;
    const transport::Sink& sink;
    Links& links;
    Ends& ends;
    const Handshake& handshake;
    const Whereabouts& here;
    const std::vector<std::byte>& address;  ///< of this device
    Joiner& joiner;
    std::uint32_t connect_ms;
  };
  explicit Peers(const Parts& parts) noexcept : parts_(parts) { parts_.joiner.know(parts_.links); }

  /// Returns the link to the device with this address, and begins to connect if there is none (connect of the
  /// provider contract).
  Result<Link*> connect(std::span<const std::byte> address, void* cookie);
  /// Handles a control message that arrived. Makes upcalls.
  void take(std::span<const std::byte> message) noexcept;
  /// Makes the endpoints and sends the control messages that links still owe.
  void step() noexcept;
  bool owes() const noexcept { return !parts_.shared.owing.empty(); }
  /// Fails the links whose peers are gone, or have not answered a connection in time.
  void look_after() noexcept;
  /// UCX reports that an endpoint cannot be used any more: its link fails.
  void lost(uct_ep_h endpoint, ucs_status_t why) noexcept;

  /// Begins to close the device: sends bye by each link. Makes no upcall, and none is made afterwards. Not to
  /// be called from inside a function of UCX.
  void say_bye() noexcept;
  /// Whether every peer of a link that is up has answered the bye, or has left as well.
  bool have_parted() const noexcept;

 private:
  Result<Link*> open(const Address& peer, unsigned owes);
  Result<void> reach_itself(Link& link);
  Result<Watch> watch(const Address& peer) const;
  void take_hello(std::span<const std::byte> message);
  void take_welcome(std::span<const std::byte> message, Link& link) noexcept;
  void take_bye(Link& link) noexcept;
  Link* answer(const Hello& hello, const Address& from);
  void owe(Link& link, unsigned what) noexcept;
  bool pay(Link& link) noexcept;
  Status send(Link& link, unsigned what) noexcept;
  Status make_endpoint(Link& link) noexcept;
  Status join_endpoint(Link& link) noexcept;
  void refuse(const char* text) noexcept;

  const Parts parts_;
  bool closing_ = false;
  std::uint64_t asked_ms_ = 0;      ///< when UCX was last asked to probe the peers
  bool told_of_strangers_ = false;  ///< a message that is refused is logged once
};

}  // namespace stria::uct
