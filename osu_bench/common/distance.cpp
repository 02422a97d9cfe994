#include "osu_bench/common/distance.hpp"

#include <fcntl.h>
#include <sys/mman.h>

namespace stria::bench {
namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

Buffer shared_page(const std::string& name, bool create) {
  const int fd = ::shm_open(name.c_str(), O_RDWR | (create ? O_CREAT | O_EXCL : 0), 0600);
  if (fd < 0) return {};
  void* at = MAP_FAILED;
  if (!create || ::ftruncate(fd, kPage) == 0)
    at = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (at == MAP_FAILED) return {};
  return {static_cast<std::byte*>(at), kPage, [](std::byte* page) { ::munmap(page, kPage); }};
}

void unlink_page(const std::string& name) {
  ::shm_unlink(name.c_str());
}

}  // namespace stria::bench
