#include "transport/uct/asking.hpp"

#include "transport/uct/clock.hpp"
#include "transport/uct/joiner.hpp"

namespace stria::uct {

Status Ask::advance(const TcpPlace& peer, const UniqueFd& events) noexcept {
  constexpr std::uint64_t kPatienceMs = 3000;  // with an address that takes nothing, while there are others
  for (;;) {
    if (!socket_) {
      if (tried_ == peer.hosts.size()) {
        if (gave_up_ms_ == 0) gave_up_ms_ = now_ms();
        return Status::unreachable;
      }
      socket_ = begin_connection(peer.hosts[tried_++], peer.port);
      sent_ = came_ = {};
      since_ms_ = now_ms();
      if (!socket_ || !wakes_by(events, socket_)) {
        socket_.reset();
        continue;
      }
    }
    Moved moved = sent_.send(socket_, &out_, sizeof out_);
    // A peer that has the message may compute, and answer when it calls the library.
    const bool is_late =
        moved == Moved::some && tried_ < peer.hosts.size() && now_ms() - since_ms_ > kPatienceMs;
    if (moved == Moved::all) moved = came_.receive(socket_, &in_, sizeof in_);
    if (moved == Moved::all) return Status::ok;
    if (moved == Moved::some && !is_late) return Status::no_resource;
    socket_.reset();
  }
}

}  // namespace stria::uct
