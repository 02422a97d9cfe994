// The allocations of a peer (memory.hpp) that are mapped here. An allocation is mapped on the first access
// through a key, and stays until the peer frees it or goes away, or newer ones take its place. One object
// for each link, used by the link's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "transport/shm/attach.hpp"

namespace stria::shm {

class PeerMemory {
 public:
  /// Whether the allocation `nonce` is known here. `data`: its bytes in this process, or empty if it could
  /// not be mapped lately. No system call.
  bool find(std::uint64_t nonce, std::span<std::byte>& data) noexcept;
  /// Maps an allocation of the peer. Empty: it cannot be mapped; `problem` says why, for the first such
  /// allocation of the link. `proof`: as for open_memory().
  std::span<std::byte> add(const Attached& peer, const MemoryName& name, AttachMode mode, std::uint64_t proof,
                           std::string& problem) noexcept;
  /// Unmaps allocations that the peer has freed, and forgets those that could not be mapped, so that they
  /// are tried again.
  void refresh() noexcept;
  void clear() noexcept { entries_.clear(); }
  std::size_t mapped() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::uint64_t nonce = 0;
    std::uint64_t used = 0;  // clock_ at the last access
    Mapping map;             // data and trailer; empty: refused
  };
  // Each allocation costs a mapping of the process (vm.max_map_count limits these), and keeps the peer's
  // memory alive.
  static constexpr std::size_t kMost = 64;

  static std::span<std::byte> data_of(const Entry& entry) noexcept;

  std::vector<Entry> entries_;
  std::size_t recent_ = 0;   // index of the entry that was found last
  std::uint64_t clock_ = 0;  // calls of find()
  bool told_ = false;        // `problem` was said for this link
};

}  // namespace stria::shm
