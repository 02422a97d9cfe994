// Names of the abstract Unix sockets of a device. Such a name belongs to a network namespace, not to a
// folder, and vanishes with its socket.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace stria::shm {

/// Names the socket of the device `nonce` for one purpose: "door", which passes descriptors (attach.hpp), or
/// "wakeup", the wakeup descriptor (wakeup.hpp). Never allocates.
class SocketName {
 public:
  SocketName(std::uint64_t nonce, const char* purpose) noexcept {
    address_.sun_family = AF_UNIX;
    // The first byte of an abstract name is 0, and the byte behind the name does not belong to it.
    const int length = std::snprintf(address_.sun_path + 1, sizeof address_.sun_path - 1,
                                     "stria-%016" PRIx64 "-%s", nonce, purpose);
    bytes_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  }
  const sockaddr* address() const noexcept { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t bytes() const noexcept { return bytes_; }

 private:
  sockaddr_un address_{};
  socklen_t bytes_ = 0;
};

}  // namespace stria::shm
