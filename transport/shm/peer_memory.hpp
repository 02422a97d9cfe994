// What a peer allocated (memory.hpp), mapped here: on the first access through a key, and until the peer
// frees it, leaves, or others take its place. One for each link, used by the link's thread.
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
  /// Whether the allocation `nonce` was added; its data, empty if it was refused lately. No system call.
  bool find(std::uint64_t nonce, std::span<std::byte>& data) noexcept;
  /// Maps it; the peer has it as descriptor `fd`. Empty: it cannot be mapped, and `problem` says why, once
  /// for the link.
  std::span<std::byte> add(const Attached& peer, std::uint64_t nonce, int fd, AttachMode mode,
                           std::uint64_t proof, std::string& problem) noexcept;
  /// Unmaps what the peer freed meanwhile, and forgets refusals, so that they are tried again.
  void refresh() noexcept;
  void clear() noexcept { entries_.clear(); }
  std::size_t mapped() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::uint64_t nonce = 0;
    std::uint64_t used = 0;  // clock_ at the last access
    Mapping map;             // data and trailer; empty: refused
  };
  // Each costs a mapping of the process (vm.max_map_count is 65530 by default) and keeps the peer's memory.
  static constexpr std::size_t kMost = 64;

  static std::span<std::byte> data_of(const Entry& entry) noexcept;

  std::vector<Entry> entries_;
  std::size_t recent_ = 0;
  std::uint64_t clock_ = 0;
  bool told_ = false;
};

}  // namespace stria::shm
