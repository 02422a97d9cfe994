#include "base/fd.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace stria {

void UniqueFd::reset(int fd) noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Mapping Mapping::shared(int fd, std::size_t bytes) noexcept {
  Mapping mapping;
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at != MAP_FAILED) {
    mapping.data_ = static_cast<std::byte*>(at);
    mapping.bytes_ = bytes;
  }
  return mapping;
}

void Mapping::reset() noexcept {
  if (data_ != nullptr) ::munmap(data_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace stria
