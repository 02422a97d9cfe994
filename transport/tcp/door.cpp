#include "transport/tcp/door.hpp"

#include <fcntl.h>

#include <cerrno>
#include <new>
#include <utility>

#include "transport/tcp/clock.hpp"

namespace stria::tcp {
namespace {

constexpr std::size_t kGuestsMost = 64;
constexpr std::uint64_t kStrangerMs = 2000;

UniqueFd another(const UniqueFd& descriptor) noexcept {
  return UniqueFd(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0));
}

}  // namespace

Result<void> Door::open(const PortRange& ports, Token door_token, Token guest_token) {
  auto door = listen_on(ports, port_);
  if (!door) return std::move(door).error();
  door_ = *std::move(door);
  spare_ = another(door_);
  guest_token_ = guest_token;
  if (!events_.watch(door_, door_token, false))
    return Error{Status::io_error, "tcp: the listening socket cannot be watched"};
  return {};
}

void Door::close() noexcept {
  door_.reset();
  spare_.reset();
  guests_.clear();
}

void Door::let_in() {
  while (guests_.size() < kGuestsMost) {
    UniqueFd socket = accept_connection(door_);
    if (!socket && lacks_descriptor(errno) && make_room_()) socket = accept_connection(door_);
    if (!socket && (!lacks_descriptor(errno) || !turn_away())) return;
    if (!socket) continue;
    auto guest = std::make_unique<Guest>(std::move(socket), now_ms());
    if (events_.watch_changes(guest->socket(), guest_token_)) guests_.push_back(std::move(guest));
  }
}

/// When the process has no descriptor left, accepts a connection by the spare one and closes it: in the
/// system's queue the connection would wait for ever, and the peer with it. False: there is no spare one, or
/// no connection.
bool Door::turn_away() noexcept {
  if (!spare_) return false;
  spare_.reset();
  const bool came = static_cast<bool>(accept_connection(door_));
  spare_ = another(door_);
  if (came && !std::exchange(told_of_descriptors_, true))
    services_.log(3,
                  "tcp: no descriptor is left for a connection that came, and it is refused: raise the limit "
                  "of open files (ulimit -n)");
  return came;
}

/// Advances a guest. False: the guest is to be removed.
bool Door::serve_one(Guest& guest, const Decide& decide, const Welcome& welcome) {
  Guest::State state = guest.advance(handshake_);
  if (state == Guest::State::proven && decide(guest)) state = guest.advance(handshake_);
  if (state == Guest::State::answered && guest.verdict() == Verdict::welcome) welcome(guest);
  if (state == Guest::State::proven) return true;  // a guest of this job may wait
  if (state == Guest::State::talking && now_ms() - guest.since() < kStrangerMs) return true;
  if (guest.is_stranger() && !std::exchange(told_of_strangers_, true))
    services_.log(3, "tcp: a connection came that does not prove to be of this job, and gets no answer");
  return false;
}

void Door::serve(const Decide& decide, const Welcome& welcome) noexcept try {
  if (door_) let_in();
  for (std::size_t i = 0; i < guests_.size();) {
    if (serve_one(*guests_[i], decide, welcome)) {
      ++i;
      continue;
    }
    guests_[i] = std::move(guests_.back());
    guests_.pop_back();
  }
} catch (const std::bad_alloc&) {
  // A connection is dropped; the peer may dial again.
}

}  // namespace stria::tcp
