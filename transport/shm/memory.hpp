// Memory that peers can map (stria_mem_alloc): one unnamed, sealed memfd for each allocation, process wide.
//
//   | data: whole pages | trailer: one page |
//
// The owner maps the data and not the trailer, so a store beyond the end faults instead of changing it. Peers
// map both and look at the trailer only. A segment is named by a random nonce: a peer learns it from the
// record of a key, and a segment that was freed shares its name with none that comes later. The bytes live
// until the last process has unmapped them, so freeing harms no peer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/result.hpp"

namespace stria::shm {

inline constexpr std::size_t kMemoryPage = 4096;

/// What a peer checks and watches.
struct MemoryTrailer {
  std::uint64_t magic;
  std::uint64_t nonce;
  std::uint64_t data_bytes;
  std::atomic<std::uint32_t> freed;  // 1: the owner let go of it, peers should too; owner
  std::uint32_t reserved;
};
inline constexpr std::uint64_t kMemoryMagic = 0x6d656d6169727473;  // "striamem"
static_assert(sizeof(MemoryTrailer) == 32 && offsetof(MemoryTrailer, freed) == 24);

/// Page aligned, of zero bytes; at least one page. A child of fork() shares it with its parent. Any thread.
/// Errors: io_error (no descriptor, no memory; the text names the limit).
Result<void*> allocate_memory(std::uint64_t bytes);
/// invalid: `memory` is not the beginning of an allocation. Any thread.
Status free_memory(void* memory) noexcept;

/// An allocation in this process's memory: [begin, end).
struct MemoryRange {
  std::uintptr_t begin = 0, end = 0;
  std::uint64_t nonce = 0;
  int fd = -1;
};

/// The allocations of the process, as one thread sees them: a copy that is renewed when they changed, so
/// that a look-up takes no lock.
class MemoryRanges {
 public:
  /// The allocation that holds all of [low, high); null: none does. O(log n).
  const MemoryRange* find(std::uintptr_t low, std::uintptr_t high) noexcept;

 private:
  std::vector<MemoryRange> sorted_;
  std::uint64_t version_ = 0;
};

/// Keeps the allocation `nonce` from being freed while its descriptor is passed on.
class HeldMemory {
 public:
  explicit HeldMemory(std::uint64_t nonce) noexcept;
  /// -1: there is none of that name.
  int fd() const noexcept { return fd_; }

 private:
  std::unique_lock<std::mutex> lock_;
  int fd_ = -1;
};

}  // namespace stria::shm
