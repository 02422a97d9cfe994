// The owner's side of keys: what a key names, and when it ends. Registering is O(1): a slot of the key table
// {layout, base, count, access}, and a published layout where the memory is not contiguous. Peers look the
// slot up (remote_access.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "hw/key_table.hpp"
#include "transport/contract.hpp"
#include "transport/shm/keys.hpp"
#include "transport/shm/layouts.hpp"
#include "transport/shm/memory.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

/// The device's thread.
class KeyMaker {
 public:
  void open(const SegmentView& segment);
  Status fast_register(const transport::Payload& memory, unsigned access, transport::Key& key) noexcept;
  /// No access by the key succeeds any more. Waits for peers that are in one: those of slots below `slots`
  /// for which is_alive(slot) is true.
  template <class IsAlive>
  Status invalidate(const transport::Key& key, std::uint32_t slots, IsAlive&& is_alive) noexcept {
    hw::KeyWord word = 0;
    if (!read_word(key, word)) return Status::access_error;
    if (table_.invalidate(word, slots, is_alive) != Status::ok) return Status::access_error;  // ended before
    give_back(word);
    return Status::ok;
  }
  template <class IsAlive>
  void invalidate_all(std::uint32_t slots, IsAlive&& is_alive) noexcept {
    table_.invalidate_all(slots, is_alive);
  }
  /// A peer that used the key says that it ends.
  void end(hw::KeyWord word) noexcept;
  /// The peer of that slot is in no access any more: it is gone.
  void clear_accessor(std::uint32_t slot) noexcept { table_.clear_accessor(slot); }

 private:
  void give_back(hw::KeyWord word) noexcept;

  hw::KeyTable table_;
  PublishedLayouts published_;
  MemoryRanges ranges_;
  std::vector<std::uint32_t> layouts_;  // by key index: the published layout that the key counts on
};

}  // namespace stria::shm
