// Joining an endpoint of a link with one of the peer, for the side that asks. This side makes an endpoint
// that is not connected yet and sends its address to the peer by TCP; the peer answers with the address of
// the endpoint that it made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/fd.hpp"
#include "transport/uct/interface.hpp"
#include "transport/uct/packets.hpp"
#include "transport/uct/tcp.hpp"

namespace stria::uct {

class Ask {
 public:
  explicit Ask(OwnEndpoint endpoint) noexcept : endpoint_(std::move(endpoint)) {}

  /// What the peer is asked.
  void say(const Join& message) noexcept { out_ = message; }
  /// Tries one address of the peer after the other. OK: answer() is there, and has to be believed yet;
  /// NO_RESOURCE: not yet; UNREACHABLE: no address is left. New sockets are added to `events`.
  Status advance(const TcpPlace& peer, const UniqueFd& events) noexcept;
  /// The question, or a part of it, is on its way to the address that is tried now.
  bool is_with_peer() const noexcept { return socket_ && sent_.has_begun(); }
  /// When it was found that no address is left.
  std::uint64_t gave_up_ms() const noexcept { return gave_up_ms_; }
  const Join& answer() const noexcept { return in_; }
  /// The answer is not the peer's: another address may be.
  void try_next() noexcept { socket_.reset(); }
  uct_ep_h endpoint() const noexcept { return endpoint_.get(); }
  uct_ep_h release() noexcept { return endpoint_.release(); }
  /// By which the answer came.
  UniqueFd release_connection() noexcept { return std::move(socket_); }

 private:
  OwnEndpoint endpoint_;
  Join out_;
  Join in_;
  UniqueFd socket_;
  Transfer sent_, came_;
  std::size_t tried_ = 0;  // hosts
  std::uint64_t since_ms_ = 0;
  std::uint64_t gave_up_ms_ = 0;
};

}  // namespace stria::uct
