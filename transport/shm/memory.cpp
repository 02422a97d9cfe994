#include "transport/shm/memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <new>

#include "base/cache_line.hpp"
#include "base/fd.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "transport/shm/address.hpp"

namespace stria::shm {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;  // the address space of a process is 2^47

struct Owned {
  MemoryRange range;
  pid_t pid;  // a child of fork() has the list and the memory, but its peers are not the parent's
  UniqueFd fd;
  Mapping map;
};

struct Registry {
  std::mutex mutex;
  std::map<std::uintptr_t, Owned> all;    // by begin
  std::atomic<std::uint64_t> version{0};  // 0: nothing was ever allocated; changed under the mutex
};
Registry& registry() noexcept {
  // Never destroyed: memory may be freed by destructors at exit.
  alignas(Registry) static std::byte place[sizeof(Registry)];
  static auto* one = ::new (place) Registry;
  return *one;
}

/// Bytes of memory and swap of this machine: more it cannot hold.
std::uint64_t memory_and_swap() noexcept {
  struct sysinfo all {};
  if (::sysinfo(&all) != 0) return kMostBytes;
  return (std::uint64_t{all.totalram} + all.totalswap) * all.mem_unit;
}

/// The error of an allocation whose system call `what` failed; errno is the reason.
Error refuse(const char* what, std::uint64_t bytes) {
  const int error = errno;
  std::string limit;
  if (error == EMFILE) {
    rlimit most{};
    ::getrlimit(RLIMIT_NOFILE, &most);
    limit = fmt::format(" (RLIMIT_NOFILE is {}; each allocation takes one descriptor)", most.rlim_cur);
  }
  return {Status::io_error, fmt::format("shm: {} for {} bytes of memory that peers can map: {}{}", what,
                                        bytes, std::strerror(error), limit)};
}

}  // namespace

Result<void*> allocate_memory(std::uint64_t bytes) {
  if (bytes > kMostBytes) {
    errno = ENOMEM;
    return refuse("mmap", bytes);
  }
  // Nothing below reserves memory: without this check more than the machine has would be granted, and a
  // store would fail.
  if (const std::uint64_t most = memory_and_swap(); bytes > most)
    return Error{
        Status::io_error,
        fmt::format("shm: no {} bytes of memory that peers can map: this machine has {} bytes of memory "
                    "and swap",
                    bytes, most)};
  // The trailer has a page of this system for itself: ARM has systems of 16 and 64 KiB, too.
  const std::size_t page = std::max(kMemoryPage, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  const std::size_t data = align_up(std::max<std::size_t>(bytes, 1), page);
  Owned made;
  made.pid = ::getpid();
  made.fd.reset(::memfd_create("stria-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made.fd) return refuse("memfd_create", bytes);
  const int fd = made.fd.get();
  if (::fchmod(fd, 0600) != 0) return refuse("fchmod", bytes);
  if (::ftruncate(fd, static_cast<off_t>(data + kMemoryPage)) != 0) return refuse("ftruncate", bytes);
  made.range.nonce = random_word();
  const MemoryTrailer trailer{kMemoryMagic, made.range.nonce, data, 0, 0};
  if (::pwrite(fd, &trailer, sizeof trailer, static_cast<off_t>(data)) !=
      static_cast<ssize_t>(sizeof trailer))
    return refuse("writing the trailer", bytes);
  // A memfd that cannot shrink cannot make a peer's load fault.
  if (::fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
    return refuse("sealing", bytes);
  made.map = Mapping::shared(fd, data);
  if (!made.map) return refuse("mmap", bytes);
  // Smaller allocations cannot have a huge page; the system decides whether larger ones get any.
  if (data >= kHugePage) ::madvise(made.map.data(), data, MADV_HUGEPAGE);
  made.range.begin = reinterpret_cast<std::uintptr_t>(made.map.data());
  made.range.end = made.range.begin + data;
  made.range.fd = fd;
  void* memory = made.map.data();
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  known.all.emplace(made.range.begin, std::move(made));
  known.version.fetch_add(1, std::memory_order_release);
  return memory;
}

Status free_memory(void* memory) noexcept {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  const auto found = known.all.find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == known.all.end()) return Status::invalid;
  const Owned& owned = found->second;
  // The version changes before the addresses can be mapped anew: a thread that gets the addresses later sees
  // the new version.
  known.version.fetch_add(1, std::memory_order_release);
  const std::uint32_t freed = 1;
  const auto at = static_cast<off_t>(owned.map.bytes() + offsetof(MemoryTrailer, freed));
  if (owned.pid == ::getpid() &&
      ::pwrite(owned.fd.get(), &freed, sizeof freed, at) != static_cast<ssize_t>(sizeof freed))
    log::info("shm: peers cannot be told that memory was freed: {}", std::strerror(errno));
  known.all.erase(found);
  return Status::ok;
}

const MemoryRange* MemoryRanges::find(std::uintptr_t low, std::uintptr_t high) noexcept {
  Registry& known = registry();
  if (version_ != known.version.load(std::memory_order_acquire)) [[unlikely]] {
    try {
      const std::lock_guard lock(known.mutex);
      sorted_.clear();
      sorted_.reserve(known.all.size());
      for (const auto& [begin, owned] : known.all) sorted_.push_back(owned.range);
      version_ = known.version.load(std::memory_order_relaxed);
    } catch (const std::bad_alloc&) {
      sorted_.clear();  // allocations are treated as ordinary memory until there is room for the list
      return nullptr;
    }
  }
  const auto after =
      std::upper_bound(sorted_.begin(), sorted_.end(), low,
                       [](std::uintptr_t at, const MemoryRange& one) { return at < one.begin; });
  if (after == sorted_.begin()) return nullptr;
  const MemoryRange& range = *std::prev(after);
  return low <= high && high <= range.end ? &range : nullptr;
}

HeldMemory::HeldMemory(std::uint64_t nonce) noexcept : lock_(registry().mutex) {
  for (const auto& [begin, owned] : registry().all)
    if (owned.range.nonce == nonce) fd_ = owned.range.fd;
}

}  // namespace stria::shm
