// Memory that peers can map (stria_mem_alloc): one unnamed, sealed memfd for each allocation. All devices of
// a process share its allocations.
//
//   | data: whole pages | trailer: one page |
//
// The owner maps the data without the trailer, so a store beyond the end of the data faults instead of
// changing the trailer. Peers map both, and only read the trailer. A random nonce names an allocation: a
// peer learns it from the record of a key, and no later allocation gets the name of one that was freed. The
// memory exists until the last process has unmapped it, so freeing harms no peer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/result.hpp"

namespace stria::shm {

inline constexpr std::size_t kMemoryPage = 4096;

/// What a peer checks when it maps an allocation, and then looks at from time to time.
struct MemoryTrailer {
  std::uint64_t magic;
  std::uint64_t nonce;
  std::uint64_t data_bytes;
  std::atomic<std::uint32_t> freed;  // 1: the owner freed the memory, so peers should unmap it; owner writes
  std::uint32_t reserved;
};
inline constexpr std::uint64_t kMemoryMagic = 0x6d656d6169727473;  // "striamem"
static_assert(sizeof(MemoryTrailer) == 32 && offsetof(MemoryTrailer, freed) == 24);

/// Allocates memory that peers can map: page aligned, of zero bytes, at least one page. A child of fork()
/// shares the memory with its parent. Any thread.
/// Errors: io_error (no descriptor, no memory; the text names the limit).
Result<void*> allocate_memory(std::uint64_t bytes);
/// Frees an allocation. Errors: invalid, `memory` is not the beginning of one. Any thread.
Status free_memory(void* memory) noexcept;

/// An allocation in this process's memory: [begin, end).
struct MemoryRange {
  std::uintptr_t begin = 0, end = 0;
  std::uint64_t nonce = 0;
  int fd = -1;
};

/// A copy of the list of the process's allocations, for one thread: it is renewed when the list has changed,
/// so that other look-ups take no lock.
class MemoryRanges {
 public:
  /// The allocation that holds all of [low, high); null: none does. O(log n).
  const MemoryRange* find(std::uintptr_t low, std::uintptr_t high) noexcept;

 private:
  std::vector<MemoryRange> sorted_;
  std::uint64_t version_ = 0;
};

/// Keeps the allocation `nonce` from being freed while its descriptor is passed on. Holds the lock of the
/// process's list, so meanwhile nothing is allocated or freed.
class HeldMemory {
 public:
  explicit HeldMemory(std::uint64_t nonce) noexcept;
  /// Descriptor of the allocation; -1: there is none of that name.
  int fd() const noexcept { return fd_; }

 private:
  std::unique_lock<std::mutex> lock_;
  int fd_ = -1;
};

}  // namespace stria::shm
