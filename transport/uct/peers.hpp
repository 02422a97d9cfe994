// How links come up, and how their ends are told: the worker's calls of connect, and the control messages of
// peers. A message that UCX has no room for is owed, and sent with a later step.
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

  /// The contract's connect.
  Result<Link*> connect(std::span<const std::byte> address, void* cookie);
  /// A control message came. Makes upcalls.
  void take(std::span<const std::byte> message) noexcept;
  /// Does what is owed.
  void step() noexcept;
  bool owes() const noexcept { return !parts_.shared.owing.empty(); }
  /// Fails the links of peers that are gone, or do not answer.
  void look_after() noexcept;
  /// The transport says that an endpoint is of no use any more.
  void lost(uct_ep_h endpoint, ucs_status_t why) noexcept;

  // When the device is closed. No upcalls are made from say_bye on, which is not called by UCX.
  void say_bye() noexcept;
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
  std::uint64_t asked_ms_ = 0;  ///< when the peers of a transport that keeps alive were last asked
  bool told_of_strangers_ = false;
};

}  // namespace stria::uct
