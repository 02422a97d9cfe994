#include "base/system.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/fd.hpp"

namespace stria {

std::uint64_t running_system() noexcept {
  const UniqueFd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[64];
  const ssize_t bytes = file ? ::read(file.get(), text, sizeof text) : -1;
  if (bytes <= 0) return 0;
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (ssize_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x100000001b3u;
  return hash;
}

std::uint32_t namespace_of(const char* kind) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/thread-self/ns/%s", kind);
  struct stat about {};
  return ::stat(path, &about) == 0 ? static_cast<std::uint32_t>(about.st_ino) : 0;
}

/// Field 22 of /proc/PID/stat. Field 2 is a name in parentheses that may have any characters, so the search
/// begins behind its parenthesis.
std::uint64_t start_of_process(std::uint32_t pid) noexcept {
  char path[64], text[1024];
  std::snprintf(path, sizeof path, "/proc/%u/stat", pid);
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  const ssize_t bytes = file ? ::read(file.get(), text, sizeof text - 1) : -1;
  if (bytes <= 0) return 0;
  text[bytes] = '\0';
  const char* at = std::strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) at = std::strchr(at + 1, ' ');
  return at == nullptr ? 0 : std::strtoull(at, nullptr, 10);
}

std::string host_name() {
  char name[256];
  if (::gethostname(name, sizeof name) != 0) return {};
  name[sizeof name - 1] = '\0';
  return name;
}

std::uint64_t random_word() noexcept {
  std::uint64_t word = 0;
  while (word == 0) {
    if (::getrandom(&word, sizeof word, 0) == static_cast<ssize_t>(sizeof word)) continue;
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    word = (static_cast<std::uint64_t>(::getpid()) << 40) ^ static_cast<std::uint64_t>(now.tv_nsec);
  }
  return word;
}

}  // namespace stria
