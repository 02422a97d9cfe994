#include "transport/shm/address.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <cstring>

#include "base/fd.hpp"
#include "base/format.hpp"
#include "stria/stria.h"
#include "transport/shm/segment.hpp"
#include "transport/wire.hpp"

namespace stria::shm {
namespace {

struct AddressBytes {
  std::uint8_t layout_version;
  std::uint8_t wire_version;
  std::uint16_t reserved;
  std::uint32_t library_version;
  Identity identity;
  std::uint64_t magic;
};
static_assert(sizeof(AddressBytes) == kAddressBytes && offsetof(AddressBytes, library_version) == 4);
constexpr std::uint64_t kAddressMagic = 0x316d6873;  // "shm1"

}  // namespace

std::uint32_t library_version() noexcept {
  return (STRIA_VERSION_MAJOR << 16) | (STRIA_VERSION_MINOR << 8) | STRIA_VERSION_PATCH;
}

std::string version_text(std::uint32_t layout, std::uint32_t wire, std::uint32_t library) {
  return fmt::format("stria {}.{}.{} (shm layout {}, wire {})", library >> 16, (library >> 8) & 0xff,
                     library & 0xff, layout, wire);
}

void encode_address(const Identity& identity, std::span<std::byte, kAddressBytes> out) noexcept {
  const AddressBytes bytes{static_cast<std::uint8_t>(kLayoutVersion),
                           wire::kVersion,
                           0,
                           library_version(),
                           identity,
                           kAddressMagic};
  std::memcpy(out.data(), &bytes, sizeof bytes);
}

Result<Identity> decode_address(std::span<const std::byte> bytes) {
  AddressBytes in{};
  if (bytes.size() < 8)
    return Error{Status::invalid, fmt::format("shm: an address of {} bytes is too short", bytes.size())};
  std::memcpy(&in, bytes.data(), std::min(bytes.size(), sizeof in));
  if (in.layout_version != kLayoutVersion || in.wire_version != wire::kVersion ||
      in.library_version != library_version())
    return Error{Status::unreachable,
                 fmt::format("shm: the peer is {}, this is {}",
                             version_text(in.layout_version, in.wire_version, in.library_version),
                             version_text(kLayoutVersion, wire::kVersion, library_version()))};
  if (bytes.size() != sizeof in || in.magic != kAddressMagic)
    return Error{Status::invalid, fmt::format("shm: {} bytes that are no shm address", bytes.size())};
  return in.identity;
}

std::uint32_t namespace_number(const char* path) noexcept {
  struct stat about {};
  return ::stat(path, &about) == 0 ? static_cast<std::uint32_t>(about.st_ino) & ((1u << 30) - 1) : 0;
}

std::uint64_t host_number() noexcept {
  char text[64] = {};
  const UniqueFd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t bytes = file ? ::read(file.get(), text, sizeof text) : 0;
  std::uint64_t number = 0;
  for (ssize_t i = 0; i < bytes; ++i) number = (number ^ static_cast<unsigned char>(text[i])) * 0x100000001b3;
  return number;
}

std::uint64_t random_word() noexcept {
  std::uint64_t word = 0;
  if (::getrandom(&word, sizeof word, 0) != static_cast<ssize_t>(sizeof word)) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    word = (static_cast<std::uint64_t>(::getpid()) << 40) ^ static_cast<std::uint64_t>(now.tv_nsec) ^
           (static_cast<std::uint64_t>(now.tv_sec) << 30);
  }
  return word != 0 ? word : 1;
}

}  // namespace stria::shm
