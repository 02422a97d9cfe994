// The asking side's part of joining two endpoints, for transports that connect endpoints pairwise. The asking
// side makes an endpoint that is not connected yet and sends the endpoint's address to the peer by TCP; the
// peer answers with the address of an endpoint of its own (joiner.hpp).
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

  /// Sets the question that advance() sends.
  void say(const Join& message) noexcept { out_ = message; }
  /// Tries the addresses of the peer one after the other. Never blocks. OK: answer() is complete, and the
  /// caller has to verify its proof; NO_RESOURCE: call again later; UNREACHABLE: no address is left. Each new
  /// socket is added to the epoll descriptor `events`.
  Status advance(const TcpPlace& peer, const UniqueFd& events) noexcept;
  /// The question, or a part of it, was sent to the address that is being tried.
  bool is_with_peer() const noexcept { return socket_ && sent_.has_begun(); }
  /// When advance() first found no address left; 0: it has not yet.
  std::uint64_t gave_up_ms() const noexcept { return gave_up_ms_; }
  const Join& answer() const noexcept { return in_; }
  /// The answer did not come from the peer: advance() is to go on with the next address.
  void try_next() noexcept { socket_.reset(); }
  uct_ep_h endpoint() const noexcept { return endpoint_.get(); }
  uct_ep_h release() noexcept { return endpoint_.release(); }
  /// Hands over the TCP connection by which the answer came.
  UniqueFd release_connection() noexcept { return std::move(socket_); }

 private:
  OwnEndpoint endpoint_;
  Join out_;
  Join in_;
  UniqueFd socket_;
  Transfer sent_, came_;                   // progress of the question and of the answer
  std::size_t tried_hosts_ = 0;            // addresses of the peer that were tried, the present one included
  std::uint64_t connecting_since_ms_ = 0;  // when the present address was first tried
  std::uint64_t gave_up_ms_ = 0;
};

}  // namespace stria::uct
