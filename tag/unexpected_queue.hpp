// The unexpected queue: messages that came before their receive. One entry is one cache line whatever it
// waits for: a short payload inline, a buffer, or an announcement whose data is still at the sender. Every
// entry lies in a hash bin (source and tag) for exact receives, and in the list of arrival for wildcards.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/cache_line.hpp"
#include "tag/match_hash.hpp"

namespace stria::tag {

struct Unexpected {
  enum class Kind : std::uint8_t { inline_payload, buffer, announced };
  static constexpr std::uint32_t kInlineMax = 16;
  static constexpr std::uint32_t kNone = ~0u;

  std::uint32_t bin_next, bin_prev, all_next, all_prev;  ///< indices in the pool
  std::uint64_t tag;
  std::uint64_t length;
  std::uint32_t source;  ///< peer index
  std::uint32_t immediate;
  std::uint32_t self;              ///< its own index
  std::uint32_t block_bytes : 23;  ///< announced: mean run at the sender, saturated
  std::uint32_t sparse : 1;
  std::uint32_t key_bytes : 6;
  std::uint32_t kind : 2;
  union {
    std::byte payload[kInlineMax];
    std::byte* buffer;  ///< from the buffer pool
    struct {
      std::uint64_t sender_op;
      std::uint8_t key[8];  ///< longer keys lie in a buffer, whose address is here
    } announced;
  };

  Kind what() const noexcept { return static_cast<Kind>(kind); }
};
static_assert(sizeof(Unexpected) == kCacheLine, "64 bytes a header is what docs/user-library.md promises");

/// Threads: the worker's lock. Entries keep their address while they are in use.
class UnexpectedQueue {
 public:
  UnexpectedQueue();

  /// An entry that is in no list; null when memory is out.
  Unexpected* allocate() noexcept;
  void release(Unexpected* entry) noexcept;
  /// Appends an entry whose tag and source are set.
  void push(Unexpected* entry) noexcept;
  /// Takes it out of its lists; it stays allocated.
  void remove(Unexpected* entry) noexcept;
  /// The first in order of arrival that a receive (source may be kAnySource) accepts, or null. Exact: O(1)
  /// expected.
  Unexpected* find(std::uint32_t source, std::uint64_t tag, std::uint64_t ignore) noexcept;
  std::uint64_t size() const noexcept { return size_; }
  /// Calls f(Unexpected&) on each in order of arrival; f may remove and release the one it is given.
  template <class F>
  void for_each(F&& f) {
    for (std::uint32_t i = head_; i != kNone;) {
      Unexpected& entry = at(i);
      i = entry.all_next;
      f(entry);
    }
  }

 private:
  static constexpr std::uint32_t kNone = Unexpected::kNone;
  static constexpr std::uint32_t kChunkLog2 = 10;
  static constexpr std::uint32_t kFirstBins = 64;
  struct Bin {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
  };
  Unexpected& at(std::uint32_t index) noexcept {
    return chunks_[index >> kChunkLog2][index & ((1u << kChunkLog2) - 1)];
  }
  Bin& bin_of(const Unexpected& entry) noexcept { return bins_[match_hash(entry.source, entry.tag) & mask_]; }
  void append_to_bin(Unexpected& entry) noexcept;
  bool grow_pool() noexcept;
  void grow_bins() noexcept;

  std::vector<std::unique_ptr<Unexpected[]>> chunks_;
  std::unique_ptr<Bin[]> bins_;
  std::uint32_t mask_ = kFirstBins - 1;
  std::uint32_t free_ = kNone;
  std::uint32_t head_ = kNone;
  std::uint32_t tail_ = kNone;
  std::uint64_t size_ = 0;
};

}  // namespace stria::tag
