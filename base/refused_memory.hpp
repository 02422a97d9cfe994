// Memory that was refused a short while ago: by the kernel, which does not copy it for another process, or by
// an adapter's driver, which does not register it. It may be memory that cannot be pinned (memfd_secret,
// the mapping of a device), or memory that may not be written, or a limit was reached. Asking again costs a
// system call, and the look at all pages before the one that is refused, so it is asked for again now and
// then only (base/backoff.hpp). All other memory is asked for each time.
//
// Eight ranges are known; one more takes the place of the oldest, which is then asked for once more than it
// should be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/backoff.hpp"

namespace stria {

class RefusedMemory {
 public:
  /// Whether to ask for [begin, end) this time. writes: it is to be written, or registered with a right that
  /// needs writable memory.
  bool allow(std::uintptr_t begin, std::uintptr_t end, bool writes) noexcept {
    Entry* const entry = used_ == 0 ? nullptr : find(begin, end, writes);
    return entry == nullptr || entry->backoff.allow();
  }
  void refused(std::uintptr_t begin, std::uintptr_t end, bool writes) noexcept {
    Entry* entry = find(begin, end, writes);
    if (entry == nullptr) {
      entry = &entries_[next_++ % entries_.size()];
      used_ += entry->end == 0 ? 1 : 0;
      *entry = {begin, end, writes, {}};
    }
    entry->backoff.refused();
  }
  /// [begin, end) was asked for and granted: forgets every entry for `writes` that shares a byte with it.
  void worked(std::uintptr_t begin, std::uintptr_t end, bool writes) noexcept {
    if (used_ == 0) return;
    while (Entry* const entry = find(begin, end, writes)) {
      *entry = {};
      --used_;
    }
  }

 private:
  struct Entry {
    std::uintptr_t begin = 0, end = 0;  ///< end 0: none
    bool writes = false;
    Backoff backoff;
  };
  /// One that shares a byte with the range: a part of what was refused may be what is refused.
  Entry* find(std::uintptr_t begin, std::uintptr_t end, bool writes) noexcept {
    for (Entry& entry : entries_)
      if (entry.begin < end && begin < entry.end && entry.writes == writes) return &entry;
    return nullptr;
  }

  std::size_t used_ = 0;
  std::size_t next_ = 0;
  std::array<Entry, 8> entries_{};
};

}  // namespace stria
