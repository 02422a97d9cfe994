// The entries of the unexpected queue. An entry is one cache line. It holds a short payload inline, or refers
// to a payload in an eager buffer, to a payload that stays in the provider's memory where it arrived, or to
// an announced message (RTS) whose data is still at the sender. Entries are chained by number: pointers would
// not leave room for the payload in the line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/cache_line.hpp"
#include "rndv/blocks.hpp"
#include "tag/match_hash.hpp"
#include "transport/wire.hpp"

namespace stria::tag {

struct Unexpected {
  enum class Kind : std::uint8_t { inline_payload, buffer, announced, in_place };
  static constexpr std::uint32_t kInlineMax = 16;
  static constexpr std::uint32_t kNone = ~0u;
  static constexpr std::uint32_t kLongKey = 63;

  std::uint32_t next, chain;         ///< chains of the match table, whose keys are source and tag
  std::uint32_t all_next, all_prev;  ///< neighbours in the list of all entries, in order of arrival
  std::uint64_t tag;
  std::uint64_t length;
  std::uint32_t source;  ///< peer index
  std::uint32_t immediate;
  std::uint32_t self;  ///< number of this entry in its pool
  /// Announced: how the data lies at the sender, packed as by packed(). Other kinds: the name of a
  /// synchronous send, whose sender waits until the message is matched, or 0.
  std::uint32_t about : wire::kSyncNameBits;
  /// Announced: size of the sender's key in bytes, or kLongKey. In place: 1 when the sender was still writing
  /// the payload as the entry was made, else 0.
  std::uint32_t key_bytes : 6;
  std::uint32_t kind : 2;
  union {
    std::byte payload[kInlineMax];
    std::byte* buffer;  ///< eager buffer; has_long_key(): holds the whole announcement
    struct {
      const std::byte* payload;  ///< in the provider's memory
      std::uint64_t name;        ///< the payload's name, for release() of the link
    } in_place;
    struct {
      std::uint64_t sender_op;
      std::uint8_t key[8];  ///< the sender's key, if it fits; else has_long_key()
    } announced;
  };

  Kind what() const noexcept { return static_cast<Kind>(kind); }
  /// Whether the sender was still writing the payload when the entry was made.
  bool was_coming() const noexcept { return what() == Kind::in_place && key_bytes != 0; }
  bool has_long_key() const noexcept { return key_bytes == kLongKey; }
  wire::SyncName sync_name() const noexcept { return what() == Kind::announced ? 0 : about; }

  /// How the data of an announced message lies at its sender, as the announcement says. The mean is saturated
  /// at kMeanMost.
  using Blocks = rndv::Blocks;
  static constexpr std::uint32_t kMeanMost = (1u << 21) - 1;
  static constexpr std::uint32_t kSparse = 1u << 21, kTurned = 1u << 22;
  static_assert(kTurned < 1u << wire::kSyncNameBits);
  static constexpr std::uint32_t packed(const Blocks& blocks) noexcept {
    return std::min(blocks.mean_bytes, kMeanMost) | (blocks.sparse ? kSparse : 0) |
           (blocks.turned ? kTurned : 0);
  }
  Blocks blocks() const noexcept {
    return {about & kMeanMost, (about & kSparse) != 0, (about & kTurned) != 0};
  }
};
static_assert(sizeof(Unexpected) == kCacheLine, "64 bytes a header is what docs/user-library.md promises");

/// Allocates entries in chunks and keeps a free list. An entry keeps its address and its number while it is
/// in use. Threads: not safe by itself; the owner serializes the calls.
class UnexpectedPool {
 public:
  /// Returns a free entry whose fields are not set, except `self`; null when memory is exhausted.
  Unexpected* allocate() noexcept {
    if (free_ == Unexpected::kNone && !grow()) return nullptr;
    Unexpected& entry = at(free_);
    free_ = entry.all_next;
    return &entry;
  }
  void release(Unexpected* entry) noexcept {
    entry->all_next = free_;
    free_ = entry->self;
  }
  Unexpected& at(std::uint32_t number) const noexcept {
    return chunks_[number >> kChunkLog2][number & ((1u << kChunkLog2) - 1)];
  }
  /// One past the highest number that an entry of this pool can have.
  std::uint32_t end() const noexcept { return static_cast<std::uint32_t>(chunks_.size()) << kChunkLog2; }

 private:
  static constexpr std::uint32_t kChunkLog2 = 10;
  bool grow() noexcept;

  std::vector<std::unique_ptr<Unexpected[]>> chunks_;
  std::uint32_t free_ = Unexpected::kNone;
};

}  // namespace stria::tag
