#include "transport/shm/peer_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/format.hpp"
#include "transport/shm/memory.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {
namespace {

const MemoryTrailer& trailer_of(const Mapping& map) noexcept {
  return *reinterpret_cast<const MemoryTrailer*>(map.data() + map.bytes() - kMemoryPage);
}

Error refuse(std::string why) {
  return {Status::unreachable, "memory of the peer cannot be mapped: " + std::move(why)};
}

/// Maps an allocation of the peer if the file behind its descriptor is that allocation. Nothing in the file
/// is believed before its seals are checked.
Result<Mapping> map_memory(const Attached& peer, const MemoryName& name, AttachMode mode,
                           std::uint64_t proof) {
  auto opened = open_memory(peer, name, mode, proof);
  if (!opened) return refuse(std::move(opened).error().context);
  // The seals are read before the size: without them the file may still change its size.
  const int seals = ::fcntl(opened->get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return refuse("it is not sealed");
  struct stat about {};
  if (::fstat(opened->get(), &about) != 0) return refuse(fmt::format("fstat: {}", std::strerror(errno)));
  if (about.st_uid != ::geteuid())
    return refuse(fmt::format("it belongs to user {}, this is user {}", about.st_uid, ::geteuid()));
  const auto bytes = static_cast<std::size_t>(about.st_size);
  if (bytes < 2 * kMemoryPage || bytes % kMemoryPage != 0)
    return refuse(fmt::format("{} bytes are no allocation", about.st_size));
  Mapping map = Mapping::shared(opened->get(), bytes);
  if (!map) return refuse(fmt::format("mmap of {} bytes: {}", bytes, std::strerror(errno)));
  exclude_from_fork(map);
  const MemoryTrailer& trailer = trailer_of(map);
  if (trailer.magic != kMemoryMagic || trailer.nonce != name.nonce ||
      trailer.data_bytes != bytes - kMemoryPage)
    return refuse("it is another one (nonce differs)");
  if (trailer.freed.load(std::memory_order_acquire) != 0) return refuse("it was freed");
  if (trailer.data_bytes >= kHugePage) ::madvise(map.data(), bytes - kMemoryPage, MADV_HUGEPAGE);
  return map;
}

}  // namespace

std::span<std::byte> PeerMemory::data_of(const Entry& entry) noexcept {
  if (!entry.map) return {};
  return {entry.map.data(), entry.map.bytes() - kMemoryPage};
}

bool PeerMemory::find(std::uint64_t nonce, std::span<std::byte>& data) noexcept {
  ++clock_;
  if (recent_ >= entries_.size() || entries_[recent_].nonce != nonce) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.nonce == nonce; });
    recent_ = static_cast<std::size_t>(found - entries_.begin());
  }
  if (recent_ == entries_.size()) return false;
  entries_[recent_].used = clock_;
  data = data_of(entries_[recent_]);
  return true;
}

std::span<std::byte> PeerMemory::add(const Attached& peer, const MemoryName& name, AttachMode mode,
                                     std::uint64_t proof, std::string& problem) noexcept {
  try {
    if (entries_.size() == kMost) refresh();
    if (entries_.size() == kMost) {
      const auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                           [](const Entry& a, const Entry& b) { return a.used < b.used; });
      entries_.erase(oldest);
    }
    auto map = map_memory(peer, name, mode, proof);
    if (!map && !told_) {
      told_ = true;
      problem = map.error().context;
    }
    entries_.push_back({name.nonce, clock_, map ? *std::move(map) : Mapping()});
    recent_ = entries_.size() - 1;
    return data_of(entries_.back());
  } catch (const std::bad_alloc&) {
    return {};
  }
}

void PeerMemory::refresh() noexcept {
  std::erase_if(entries_, [](const Entry& entry) {
    return !entry.map || trailer_of(entry.map).freed.load(std::memory_order_acquire) != 0;
  });
}

}  // namespace stria::shm
