#include "transport/uct/asking.hpp"

#include "transport/uct/clock.hpp"
#include "transport/uct/joiner.hpp"

namespace stria::uct {

Status Ask::advance(const TcpPlace& peer, const UniqueFd& events) noexcept {
  // How long an address may fail to take the question before the next address is tried.
  constexpr std::uint64_t kPatienceMs = 3000;
  for (;;) {
    if (!socket_) {
      if (tried_hosts_ == peer.hosts.size()) {
        if (gave_up_ms_ == 0) gave_up_ms_ = now_ms();
        return Status::unreachable;
      }
      socket_ = begin_connection(peer.hosts[tried_hosts_++], peer.port);
      sent_ = came_ = {};
      connecting_since_ms_ = now_ms();
      if (!socket_ || !wakes_by(events, socket_)) {
        socket_.reset();
        continue;
      }
    }
    Moved moved = sent_.send(socket_, &out_, sizeof out_);
    // Only a question that was not sent whole can be late: a peer that has it answers when it next calls the
    // library, which may be after a long computation.
    const bool is_late = moved == Moved::some && tried_hosts_ < peer.hosts.size() &&
                         now_ms() - connecting_since_ms_ > kPatienceMs;
    if (moved == Moved::all) moved = came_.receive(socket_, &in_, sizeof in_);
    if (moved == Moved::all) return Status::ok;
    if (moved == Moved::some && !is_late) return Status::no_resource;
    socket_.reset();
  }
}

}  // namespace stria::uct
