// Memory that its hostile owner shortens while it is looked at: between any two looks, so in the middle of
// the one at its seals, which end that. What is mapped must be as long as was checked, or reading it kills
// the reader.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <cstdarg>

#include "tests/transport/shm/node.hpp"
#include "transport/shm/address.hpp"
#include "transport/shm/attach.hpp"
#include "transport/shm/peer_memory.hpp"

namespace {

/// Shortened to `left` when its seals are asked for, and sealed after that.
struct Trap {
  int fd = -1;
  off_t left = 0;
} trap;

using Fcntl = int (*)(int, int, ...);

int call(Fcntl real, int fd, int command, void* argument) {
  if (command == F_GET_SEALS && trap.fd >= 0) {
    const Trap one = std::exchange(trap, Trap{});
    if (::ftruncate(one.fd, one.left) != 0) ::_exit(3);
    if (real(one.fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) ::_exit(4);
  }
  return real(fd, command, argument);
}

}  // namespace

// In front of the C library's.
extern "C" int fcntl(int fd, int command, ...) {
  static const auto real = reinterpret_cast<Fcntl>(::dlsym(RTLD_NEXT, "fcntl"));
  va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  return call(real, fd, command, argument);
}
extern "C" int fcntl64(int fd, int command, ...) {
  static const auto real = reinterpret_cast<Fcntl>(::dlsym(RTLD_NEXT, "fcntl64"));
  va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  return call(real, fd, command, argument);
}

namespace stria::shm::test {
namespace {

constexpr std::size_t kLong = 8192;

/// A memfd that will be cut.
int trapped(off_t left) {
  const int fd = ::memfd_create("stria-cut", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0 || ::ftruncate(fd, kLong) != 0) ::_exit(2);
  trap = {fd, left};
  return fd;
}

// Each in a process of its own, which may die.
int map_allocation() {
  Attached peer;
  peer.pid = ::getpid();
  const int fd = trapped(kLong / 2);
  std::string problem;
  PeerMemory memory;
  const bool mapped = !memory.add(peer, {77, fd}, AttachMode::proc, 0, problem).empty();
  return mapped || trap.fd >= 0 || problem.find("are no allocation") == std::string::npos ? 1 : 0;
}

int map_segment() {
  const int fd = trapped(0);
  const Identity identity{.nonce = 77,
                          .worker_id = 1,
                          .segment_bytes = kLong,
                          .pid = static_cast<std::uint32_t>(::getpid()),
                          .fd = fd};
  const auto mapped = attach(identity, AttachMode::proc, 0);
  return mapped || trap.fd >= 0 || mapped.error().context.find("0 bytes where") == std::string::npos ? 1 : 0;
}

TEST(ShmSeals, are_looked_at_before_the_size_of_an_allocation) {
  Child reader([](Child&) { return map_allocation(); });
  EXPECT_EQ(reader.wait(), 0);
}

TEST(ShmSeals, are_looked_at_before_the_size_of_a_segment) {
  Child reader([](Child&) { return map_segment(); });
  EXPECT_EQ(reader.wait(), 0);
}

}  // namespace
}  // namespace stria::shm::test
