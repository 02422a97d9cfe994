// The software form of an adapter's memory-translation table, in shared memory: the owner makes keys valid
// and invalid, other processes look keys up and copy.
//
//   key word    index 24 bits | consumer key 8 bits, changed at every use of the slot
//   slot        free -> invalid (allocate) -> valid (bind) -> invalid (end, invalidate) -> free (release)
//   control     state 8 | access 8 | consumer key 8 | - 8 | generation 32
//               A reader that loads the same control before and after it reads the slot has read one key's
//               record. One that loads the same once more after its copy has copied under a valid key.
//
// A read (get) is refused when the control has changed while it copied: what was read is not used. A write
// cannot be taken back, so a writer pins the key: it notes the key in a line of its own, counts itself, and
// only then checks the key. invalidate() changes the control, and then waits for writers whose pin names the
// key: none of them writes afterwards. Pins of dead processes are passed over. The count may stay too high
// when a writer dies, and invalidate() then looks at the pins although no process writes; the count is never
// too low.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/cache_line.hpp"
#include "base/instructions.hpp"
#include "base/status.hpp"

namespace stria::hw {

inline constexpr std::uint32_t kKeyIndexBits = 24;
inline constexpr std::uint32_t kKeyMaxSlots = 1u << kKeyIndexBits;

/// The word by which a peer names a key: the index in the low 24 bits, the consumer key above.
using KeyWord = std::uint32_t;
constexpr KeyWord make_key_word(std::uint32_t index, std::uint8_t consumer) noexcept {
  return index | (std::uint32_t{consumer} << kKeyIndexBits);
}
constexpr std::uint32_t key_index(KeyWord word) noexcept {
  return word & (kKeyMaxSlots - 1);
}
constexpr std::uint8_t key_consumer(KeyWord word) noexcept {
  return static_cast<std::uint8_t>(word >> kKeyIndexBits);
}

enum KeyAccess : std::uint8_t { kKeyRead = 1, kKeyWrite = 2, kKeyAtomic = 4, kKeyAll = 7 };

/// What a valid key stands for: `count` instances of a layout at `base`, `bytes` long as a packed stream.
struct KeyRecord {
  std::uint64_t base = 0;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::uint32_t layout = 0;  ///< the owner's number of a published layout; 0: contiguous
  std::uint32_t layout_generation = 0;
  // The provider's fields: the table does not interpret them.
  std::uint64_t segment = 0;  ///< names memory that peers can map; 0: none
  /// Offset of `base` in the segment; may be negative, as the layout may begin later.
  std::int64_t segment_offset = 0;
  std::int32_t segment_fd = -1;  ///< the owner's descriptor of the segment
  std::uint32_t reserved = 0;
};

enum class KeyState : std::uint8_t { free = 0, invalid = 1, valid = 2 };

struct alignas(kCacheLine) KeySlot {
  static constexpr std::size_t kWords = sizeof(KeyRecord) / 8;
  std::atomic<std::uint64_t> control;
  std::atomic<std::uint64_t> words[kWords];
};
static_assert(sizeof(KeySlot) == kCacheLine && sizeof(KeyRecord) == 56);

struct alignas(kCacheLine) KeyTableHeader {
  std::atomic<std::uint32_t> pinned;  // number of pinned accesses under way, or more
};
struct alignas(kCacheLine) KeyPin {
  std::atomic<std::uint64_t> word;  // bit 32 | key word while an access is under way; else 0
};

/// The size of a table's memory. Memory of zero bytes is an empty table.
struct KeyTableShape {
  std::uint32_t slots = 0;
  std::uint32_t accessors = 0;  ///< processes that can pin at the same time, each with its own number
  constexpr std::size_t bytes() const noexcept {
    return sizeof(KeyTableHeader) + std::size_t{slots} * sizeof(KeySlot) +
           std::size_t{accessors} * sizeof(KeyPin);
  }
};

/// A process's view of a key table, its own or another process's. Trivially copyable; the memory outlives it.
class KeyTableView {
 public:
  KeyTableView() = default;
  /// `memory` is kCacheLine aligned and shape.bytes() long.
  KeyTableView(std::byte* memory, const KeyTableShape& shape) noexcept;

  /// Reads the record of a valid key. `control`: for check_unchanged(). access_error: the key has ended, was
  /// never made, or is without a right of `access`.
  Status look_up(KeyWord word, std::uint8_t access, KeyRecord& record, std::uint64_t& control) const noexcept;
  /// Checks that a key is valid for `access` to [offset, offset + length) of contiguous memory at `base`.
  /// access_error: it is not.
  Status check_block(KeyWord word, std::uint8_t access, std::uint64_t base, std::uint64_t offset,
                     std::int64_t length) const noexcept;
  /// Prefetches a key's slot, which will be looked up soon.
  void prefetch(KeyWord word) const noexcept {
    if (key_index(word) < shape_.slots) __builtin_prefetch(&slot_[key_index(word)]);
  }
  /// Checks after a read that a key is still what look_up() saw. access_error: the bytes that were read must
  /// not be used.
  Status check_unchanged(KeyWord word, std::uint64_t control) const noexcept;
  /// Looks a key up as look_up() does, and pins it: until end_pinned() the owner's invalidate() waits. An
  /// accessor pins one key at a time.
  Status begin_pinned(std::uint32_t accessor, KeyWord word, std::uint8_t access,
                      KeyRecord& record) const noexcept;
  /// Ends the access that begin_pinned() has begun.
  void end_pinned(std::uint32_t accessor) const noexcept;

 protected:
  KeyTableHeader* header_ = nullptr;
  KeySlot* slot_ = nullptr;
  KeyPin* pin_ = nullptr;
  KeyTableShape shape_{};
};

/// Whether [offset, offset + length) lies in a stream of record.bytes bytes.
bool in_bounds(const KeyRecord& record, std::uint64_t offset, std::int64_t length) noexcept;

/// The owner's side of a key table. One thread at a time; other threads and processes may use views
/// meanwhile.
class KeyTable : public KeyTableView {
 public:
  KeyTable() = default;
  KeyTable(std::byte* memory, const KeyTableShape& shape);

  /// Takes a slot: free -> invalid. no_resource: all slots are in use.
  Status allocate(std::uint32_t& index) noexcept;
  /// Makes a slot's key valid for any record: invalid -> valid, with the next consumer key. O(1). The slot
  /// has to be the caller's, by allocate() or since end() or invalidate(): to bind any other is a broken
  /// invariant.
  KeyWord bind(std::uint32_t index, const KeyRecord& record, std::uint8_t access) noexcept;
  /// Ends a key without waiting, because the process that used the key says that it is done: valid ->
  /// invalid. The slot's line may still be on its way to this core, and what follows need not wait for it.
  /// invalid: the word is stale.
  Status end(KeyWord word) noexcept;
  /// Ends a key: valid -> invalid. On return no process writes through the key, and no read under way will be
  /// accepted. alive(accessor) tells whether a writer that is waited for still exists. Only the pins of
  /// accessors below `accessors` are examined. invalid: the word is stale.
  template <class Alive>
  Status invalidate(KeyWord word, std::uint32_t accessors, Alive&& alive) noexcept {
    bool wait = false;
    const Status status = start_invalidate(word, wait);
    if (status != Status::ok || !wait) return status;
    const std::uint64_t pinned = kPinned | word;
    for (std::uint32_t i = 0; i < accessors && i < shape_.accessors; ++i)
      for (std::uint32_t spins = 1; pin_[i].word.load(std::memory_order_acquire) == pinned; ++spins) {
        if (spins % 4096 == 0 && !alive(i)) break;
        cpu_relax();
      }
    return Status::ok;
  }
  /// Ends and releases all keys, as invalidate() and release() do: the owner leaves.
  template <class Alive>
  void invalidate_all(std::uint32_t accessors, Alive&& alive) noexcept {
    for (std::uint32_t index = 0; index < fresh_; ++index)
      if (const KeyWord word = word_of(index); invalidate(word, accessors, alive) == Status::ok)
        release(index);
  }
  /// Gives a slot back: invalid -> free.
  void release(std::uint32_t index) noexcept;
  /// The record of a valid key, for the owner. access_error: the key is not valid.
  Status record_of(KeyWord word, KeyRecord& record) const noexcept;
  /// Clears the pin of an accessor that is dead.
  void clear_accessor(std::uint32_t accessor) noexcept;

 private:
  friend class KeyTableView;
  static constexpr std::uint64_t kPinned = std::uint64_t{1} << 32;
  /// Stores the `invalid` of a valid key, with `order`. invalid: the word is stale.
  Status make_invalid(KeyWord word, std::memory_order order) noexcept;
  /// Makes a valid key invalid. `wait`: pinned accesses may be under way. invalid: the word is stale.
  Status start_invalidate(KeyWord word, bool& wait) noexcept;
  /// The word of the slot's last key.
  KeyWord word_of(std::uint32_t index) const noexcept;

  // Free slots are re-used in turn. While there are slots that were never used, kQuarantine free ones have to
  // wait before one is re-used, so that a consumer key comes round again only after 256 times kQuarantine
  // registrations. Later free slots are re-used sooner.
  static constexpr std::uint32_t kQuarantine = 256;
  std::vector<std::uint32_t> ring_;
  std::uint32_t ring_head_ = 0, ring_count_ = 0, fresh_ = 0;
};

}  // namespace stria::hw
