// Names of abstract Unix sockets. Such a name belongs to a network namespace, not to a folder, and vanishes
// with its socket.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace stria::shm {

class AbstractName {
 public:
  explicit AbstractName(std::string_view name) noexcept {
    const std::size_t length = std::min(name.size(), sizeof address_.sun_path - 1);
    address_.sun_family = AF_UNIX;
    name.copy(address_.sun_path + 1, length);
    bytes_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  const sockaddr* address() const noexcept { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t bytes() const noexcept { return bytes_; }

 private:
  sockaddr_un address_{};
  socklen_t bytes_ = 0;
};

}  // namespace stria::shm
