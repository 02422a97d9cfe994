// What an unexpected message is kept in: one line, whatever it waits for: a short payload inline, a buffer,
// a payload that stays where it arrived, or an announcement whose data is still at the sender. Entries have
// numbers, which are their links.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/cache_line.hpp"
#include "tag/match_hash.hpp"
#include "transport/wire.hpp"

namespace stria::tag {

struct Unexpected {
  enum class Kind : std::uint8_t { inline_payload, buffer, announced, in_place };
  static constexpr std::uint32_t kInlineMax = 16;
  static constexpr std::uint32_t kNone = ~0u;
  static constexpr std::uint32_t kLongKey = 63;

  std::uint32_t next, chain;         ///< in the table of exact receives
  std::uint32_t all_next, all_prev;  ///< in order of arrival
  std::uint64_t tag;
  std::uint64_t length;
  std::uint32_t source;  ///< peer index
  std::uint32_t immediate;
  std::uint32_t self;  ///< its own number
  /// Announced: the sender's blocks (blocks()). Else: 0, or the name of a message whose sender waits for its
  /// receive.
  std::uint32_t about : wire::kSyncNameBits;
  /// Of an announced one, or kLongKey; in place: 1 when it was still being written.
  std::uint32_t key_bytes : 6;
  std::uint32_t kind : 2;
  union {
    std::byte payload[kInlineMax];
    std::byte* buffer;  ///< from the buffer pool
    struct {
      const std::byte* payload;  ///< where it arrived
      std::uint64_t name;        ///< for the link's release()
    } in_place;
    struct {
      std::uint64_t sender_op;
      std::uint8_t key[8];  ///< with a longer one all of the announcement lies in `buffer`
    } announced;
  };

  Kind what() const noexcept { return static_cast<Kind>(kind); }
  bool was_coming() const noexcept { return what() == Kind::in_place && key_bytes != 0; }
  bool has_long_key() const noexcept { return key_bytes == kLongKey; }
  wire::SyncName sync_name() const noexcept { return what() == Kind::announced ? 0 : about; }

  /// How an announced message lies at its sender, as its announcement says it; the mean run is saturated.
  struct Blocks {
    std::uint32_t mean_bytes;
    bool sparse, turned, written;
    constexpr bool operator==(const Blocks&) const noexcept = default;
  };
  static constexpr std::uint32_t kMeanMost = (1u << 21) - 1;
  static constexpr std::uint32_t kSparse = 1u << 21, kTurned = 1u << 22, kWritten = 1u << 23;
  static_assert(kWritten < 1u << wire::kSyncNameBits);
  static constexpr std::uint32_t packed(const Blocks& blocks) noexcept {
    return std::min(blocks.mean_bytes, kMeanMost) | (blocks.sparse ? kSparse : 0) |
           (blocks.turned ? kTurned : 0) | (blocks.written ? kWritten : 0);
  }
  Blocks blocks() const noexcept {
    return {about & kMeanMost, (about & kSparse) != 0, (about & kTurned) != 0, (about & kWritten) != 0};
  }
};
static_assert(sizeof(Unexpected) == kCacheLine, "64 bytes a header is what docs/user-library.md promises");

/// Entries keep their address and their number while they are in use. Threads: the owner's business.
class UnexpectedPool {
 public:
  /// Null when memory is out.
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
  /// All numbers are below it.
  std::uint32_t end() const noexcept { return static_cast<std::uint32_t>(chunks_.size()) << kChunkLog2; }

 private:
  static constexpr std::uint32_t kChunkLog2 = 10;
  bool grow() noexcept;

  std::vector<std::unique_ptr<Unexpected[]>> chunks_;
  std::uint32_t free_ = Unexpected::kNone;
};

}  // namespace stria::tag
