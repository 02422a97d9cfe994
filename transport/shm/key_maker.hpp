// Makes and ends the keys of a device's memory. To register memory is O(1): a slot of the key table gets
// {layout, base, count, access}, and a layout that is not contiguous is published, once (layouts.hpp). Peers
// look the slot up (remote_access.hpp).
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

/// Threads: the device's thread only.
class KeyMaker {
 public:
  /// To be called once, when the device's segment exists.
  void open(const SegmentView& segment);
  /// Makes a key for `memory`; `access`: STRIA_REGISTER_* bits and rights. Errors: invalid; no_resource: all
  /// slots of the key table are in use, or all published layouts; unsupported: the layout's descriptor is
  /// too long, or STRIA_REGISTER_MAPPED is asked for memory that peers cannot map.
  Status fast_register(const transport::Payload& memory, unsigned access, transport::Key& key) noexcept;
  /// Ends a key: no access by it succeeds any more. Waits for accesses of peers that have pinned the key;
  /// only peer slots below `slots` are looked at, and only while is_alive(slot) is true. Errors:
  /// access_error, the key is none or has ended.
  template <class IsAlive>
  Status invalidate(const transport::Key& key, std::uint32_t slots, IsAlive&& is_alive) noexcept {
    hw::KeyWord word = 0;
    if (!read_word(key, word)) return Status::access_error;
    if (table_.invalidate(word, slots, is_alive) != Status::ok) return Status::access_error;  // ended before
    give_back(word);
    return Status::ok;
  }
  /// Ends every key, as invalidate() does.
  template <class IsAlive>
  void invalidate_all(std::uint32_t slots, IsAlive&& is_alive) noexcept {
    table_.invalidate_all(slots, is_alive);
  }
  /// Ends a key without waiting, because the peer that used it says so.
  void end(hw::KeyWord word) noexcept;
  /// Forgets what the peer of a slot was accessing: the peer is gone.
  void clear_accessor(std::uint32_t slot) noexcept { table_.clear_accessor(slot); }

 private:
  void give_back(hw::KeyWord word) noexcept;

  hw::KeyTable table_;
  PublishedLayouts published_;
  MemoryRanges ranges_;
  std::vector<std::uint32_t> layouts_;  // by key index: number of the published layout that the key uses
};

}  // namespace stria::shm
