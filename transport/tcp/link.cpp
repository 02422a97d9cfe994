#include "transport/tcp/link.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace stria::tcp {
namespace {

constexpr std::uint32_t kLatencyNs = 10000;  // an estimate: the system's work on both sides

std::string path_of(const UniqueFd& socket) {
  sockaddr_storage peer{};
  socklen_t bytes = sizeof peer;
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&peer), &bytes) != 0) return "tcp";
  const auto ip = Ip::of(reinterpret_cast<const sockaddr*>(&peer));
  return ip ? "tcp to " + ip->text() : "tcp to itself";
}

}  // namespace

Link::Link(Shared& shared, Address peer) noexcept
    : shared_(shared),
      peer_(std::move(peer)),
      eager_max_(std::min(shared.eager_max, peer_.eager_max)),
      outgoing_(shared.pool, shared.services),
      incoming_(shared.pool, shared.sink, shared.services, shared.eager_max),
      path_("tcp, not connected yet") {}

void Link::come_up(UniqueFd socket, std::uint32_t eager_max) noexcept {
  socket_ = std::move(socket);
  eager_max_ = std::min(shared_.eager_max, eager_max);
  path_ = path_of(socket_);
  state_ = State::up;
  dial.reset();
  watch();
}

void Link::come_up(UniqueFd sends, UniqueFd receives) noexcept {
  receives_ = std::move(receives);
  come_up(std::move(sends), shared_.eager_max);
}

void Link::watch() noexcept {
  static_cast<void>(shared_.events.watch(socket_, token(), waits_for_room_));
  if (receives_) static_cast<void>(shared_.events.watch(receives_, token(), false));
}

Status Link::eager_send(const transport::Header& header, const transport::Payload& payload) noexcept {
  if (state_ != State::up) return state_ == State::coming ? Status::no_resource : Status::peer_failed;
  const Status status = outgoing_.send(socket_, header, payload);
  if (!outgoing_.is_empty() && !waits_for_room_) wait_for_room(true);
  return status;
}

void Link::flush() noexcept {
  if (!waits_for_room_ || state_ != State::up) return;
  if (outgoing_.flush(socket_) == Status::no_resource) return;
  wait_for_room(false);  // also of a connection that is broken: its end comes by the receiving side
}

void Link::wait_for_room(bool waits) noexcept {
  waits_for_room_ = waits;
  if (waits)
    ++shared_.waiting_for_room;
  else
    --shared_.waiting_for_room;
  watch();
}

/// An end is acknowledged at once, whereas a system may keep the acknowledgement of bytes back for 40 ms.
bool Link::finish() noexcept {
  flush();
  if (!outgoing_.is_empty()) return false;
  if (!std::exchange(has_finished_, true)) static_cast<void>(::shutdown(socket_.get(), SHUT_WR));
  return unacknowledged(socket_) == 0;
}

void Link::limits(transport::LinkLimits& out) const noexcept {
  out = {};
  out.eager_max = eager_max_;
  out.path = path_.c_str();
  out.fallback = "";
  out.latency_ns = kLatencyNs;
}

void Link::cut() noexcept {
  if (std::exchange(waits_for_room_, false)) --shared_.waiting_for_room;
  state_ = State::dying;
  dial.reset();
  socket_.reset();
  receives_.reset();
}

}  // namespace stria::tcp
