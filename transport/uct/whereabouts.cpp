#include "transport/uct/whereabouts.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "base/format.hpp"

namespace stria::uct {
namespace {

constexpr int kQueue = 4096;  // most watchers of a door; the kernel reduces it to net.core.somaxconn

/// The address of the door of the device with this instance.
struct DoorName {
  explicit DoorName(std::uint64_t instance) {
    const std::string name = fmt::format("stria-uct-{:016x}", instance);
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr_un address{};
  socklen_t bytes = 0;
};

UniqueFd unix_socket() noexcept {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

bool has_event(const UniqueFd& fd) noexcept {
  pollfd entry{fd.get(), POLLIN, 0};
  return fd && ::poll(&entry, 1, 0) == 1;
}

}  // namespace

Whereabouts own_whereabouts() noexcept {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  return {running_system(), start_of_process(pid), namespace_of("pid"), namespace_of("net"), pid, 0};
}

bool can_watch(const Whereabouts& one, const Whereabouts& other) noexcept {
  return one.host != 0 && one.pid_space != 0 && one.net_space != 0 && one.host == other.host &&
         one.pid_space == other.pid_space && one.net_space == other.net_space;
}

Result<Door> Door::open(std::uint64_t instance) {
  Door door;
  door.socket_ = unix_socket();
  const DoorName name(instance);
  if (!door.socket_ || ::bind(door.socket_.get(), name.get(), name.bytes) != 0 ||
      ::listen(door.socket_.get(), kQueue) != 0)
    return Error{Status::io_error,
                 fmt::format("uct: cannot listen on an abstract unix socket, by which peers "
                             "of this host see whether the device lives: {}",
                             std::strerror(errno))};
  return door;
}

void Door::close() noexcept {
  if (!socket_) return;
  ::shutdown(socket_.get(), SHUT_RDWR);
  // Accepts and closes the connections in the queue, so that the watchers see the end now and not when the
  // last copy of this socket is closed.
  for (int fd = 0; (fd = ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) ::close(fd);
  socket_.reset();
}

Watch Watch::of(const Whereabouts& peer, std::uint64_t instance) noexcept {
  Watch watch;
  watch.process_.reset(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
  const bool was_there = watch.process_ || errno != ESRCH;
  // A process that has got the peer's pid since has another start time. A start time is 0 where /proc is
  // hidden.
  const std::uint64_t started = start_of_process(peer.pid);
  if (!was_there || (started != 0 && peer.started != 0 && started != peer.started)) watch.gone_ = true;
  if (peer.pid == static_cast<std::uint32_t>(::getpid())) watch.process_.reset();
  const DoorName name(instance);
  watch.connection_ = unix_socket();
  if (watch.connection_ && ::connect(watch.connection_.get(), name.get(), name.bytes) != 0) {
    if (errno == ECONNREFUSED) watch.gone_ = true;
    watch.connection_.reset();  // when the queue of the door is full, the process alone is watched
  }
  return watch;
}

bool Watch::is_gone() noexcept {
  if (!gone_) gone_ = has_event(connection_) || has_event(process_) || has_event(tcp_);
  return gone_;
}

}  // namespace stria::uct
