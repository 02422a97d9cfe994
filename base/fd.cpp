#include "base/fd.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/cache_line.hpp"

namespace stria {

void UniqueFd::reset(int fd) noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

namespace {

/// Addresses for so many bytes that begin where a huge page may, with nothing there. Null: not to be had.
std::byte* aligned_room(std::size_t bytes) noexcept {
  void* const taken =
      ::mmap(nullptr, bytes + kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (taken == MAP_FAILED) return nullptr;
  auto* const room = static_cast<std::byte*>(taken);
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(room) % kHugePage) % kHugePage;
  const std::size_t used = before + align_up(bytes, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  if (before > 0) ::munmap(room, before);
  ::munmap(room + used, bytes + kHugePage - used);
  return room + before;
}

}  // namespace

Mapping Mapping::shared(int fd, std::size_t bytes) noexcept {
  Mapping mapping;
  std::byte* const wanted = bytes >= kHugePage ? aligned_room(bytes) : nullptr;
  const int fixed = wanted != nullptr ? MAP_FIXED : 0;
  void* at = ::mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, fd, 0);
  if (at != MAP_FAILED) {
    mapping.data_ = static_cast<std::byte*>(at);
    mapping.bytes_ = bytes;
  } else if (wanted != nullptr) {
    const int error = errno;
    ::munmap(wanted, bytes);
    errno = error;
  }
  return mapping;
}

void Mapping::reset() noexcept {
  if (data_ != nullptr) ::munmap(data_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace stria
