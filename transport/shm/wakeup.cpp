#include "transport/shm/wakeup.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/format.hpp"
#include "hw/pio.hpp"
#include "transport/shm/unix_socket.hpp"

namespace stria::shm {

bool register_barrier() noexcept {
  static const bool registered =
      ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
  return registered;
}

Result<void> Wakeup::open(std::uint64_t nonce) {
  socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const SocketName name(nonce, "wakeup");
  if (!socket_ || ::bind(socket_.get(), name.address(), name.bytes()) != 0) {
    const int error = errno;
    socket_.reset();
    return Error{Status::io_error, fmt::format("shm: socket to sleep on: {}", std::strerror(error))};
  }
  return {};
}

void Wakeup::clear() noexcept {
  char byte = 0;
  while (::recv(socket_.get(), &byte, sizeof byte, MSG_DONTWAIT) >= 0) continue;
}

void Wakeup::notify(std::uint64_t nonce) const noexcept {
  if (!socket_) return;
  const SocketName name(nonce, "wakeup");
  const char byte = 1;
  // When the queue of the socket is full, the device was notified already.
  ::sendto(socket_.get(), &byte, sizeof byte, MSG_DONTWAIT | MSG_NOSIGNAL, name.address(), name.bytes());
}

void Wakeup::barrier() noexcept {
  hw::full_fence();
  if (register_barrier()) ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

}  // namespace stria::shm
