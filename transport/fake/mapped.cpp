#include "transport/fake/mapped.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "base/format.hpp"

namespace stria::fake {
namespace {

constexpr std::uint64_t kPage = 4096;

struct Piece {
  std::uint64_t bytes;
  const Device* owner;
};
/// By the first byte. Lives as long as the process, as the memory may.
struct Pieces {
  std::mutex mutex;
  std::map<std::uintptr_t, Piece> all;
};
Pieces& pieces() {
  static auto* const it = new Pieces;
  return *it;
}

}  // namespace

Result<void*> allocate_mapped(const Device* device, std::uint64_t bytes) {
  constexpr std::uint64_t kMost = 1ull << 47;  // of an address space
  if (bytes >= kMost) return Error{Status::io_error, fmt::format("fake: {} bytes are no memory", bytes)};
  const std::uint64_t whole = (std::max<std::uint64_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  void* const memory = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Error{Status::io_error, fmt::format("fake: mmap of {} bytes: {}", whole, std::strerror(errno))};
  const std::lock_guard lock(pieces().mutex);
  pieces().all[reinterpret_cast<std::uintptr_t>(memory)] = {whole, device};
  return memory;
}

Status free_mapped(const Device* device, void* memory) noexcept {
  const std::lock_guard lock(pieces().mutex);
  const auto found = pieces().all.find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == pieces().all.end() || found->second.owner != device) return Status::invalid;
  ::munmap(memory, found->second.bytes);
  pieces().all.erase(found);
  return Status::ok;
}

void disown_mapped(const Device& device) noexcept {
  const std::lock_guard lock(pieces().mutex);
  for (auto& [begin, piece] : pieces().all)
    if (piece.owner == &device) piece.owner = nullptr;
}

bool is_mapped_memory(const transport::Payload& memory) noexcept {
  auto low = reinterpret_cast<std::uintptr_t>(memory.base), high = low;
  if (const datatype::Layout* const layout = transport::layout_of(memory)) {
    const auto reach = layout->reach(memory.count);
    if (!reach) return false;
    high = low + static_cast<std::uintptr_t>(reach->high);
    low += static_cast<std::uintptr_t>(reach->low);
  } else {
    high += static_cast<std::uintptr_t>(memory.count);
  }
  const std::lock_guard lock(pieces().mutex);
  const auto after = pieces().all.upper_bound(low);
  if (after == pieces().all.begin()) return false;
  const auto& [begin, piece] = *std::prev(after);
  return low >= begin && high <= begin + piece.bytes;
}

}  // namespace stria::fake
