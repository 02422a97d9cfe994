// NameTable: names for operations, which travel to a peer and come back in its packets. A name is a slot
// index and a generation. A stale or invented name finds nothing, so no pointer ever crosses the wire.
#pragma once

#include <cstdint>
#include <vector>

#include "rndv/operation.hpp"

namespace stria::rndv {

template <class Op>
class NameTable {
 public:
  /// Gives the operation a name. O(1); allocates only when more operations are in flight than ever before.
  /// Throws std::bad_alloc.
  wire::OpId insert(Op* op) {
    if (free_high_ == kNone && free_low_ == kNone) grow();
    return use_slot(free_high_ != kNone ? free_high_ : free_low_, op);
  }
  /// Gives the operation a name in one of the first wire::kSyncSlots slots; 0 when all of them are taken.
  /// Throws std::bad_alloc.
  wire::OpId insert_low(Op* op) {
    if (free_low_ == kNone && slots_.size() < wire::kSyncSlots) grow();
    return free_low_ == kNone ? 0 : use_slot(free_low_, op);
  }
  /// The operation with the name `id`, or null.
  Op* find(wire::OpId id) const noexcept {
    const auto index = static_cast<std::uint32_t>(id);
    if (index >= slots_.size()) return nullptr;
    const Slot& slot = slots_[index];
    return slot.generation == static_cast<std::uint32_t>(id >> 32) ? slot.op : nullptr;
  }
  /// The operation in slot `index`, or null.
  Op* at(std::uint32_t index) const noexcept { return index < slots_.size() ? slots_[index].op : nullptr; }
  void erase(wire::OpId id) noexcept {
    const auto index = static_cast<std::uint32_t>(id);
    Slot& slot = slots_[index];
    slot.op = nullptr;
    if (++slot.generation == 0) slot.generation = 1;
    free_slot(index);
  }
  /// Calls f(Op&) for every operation; f may erase the one it is given. Returns how many slots it looked at:
  /// at most twice as many as there ever were operations at a time, or 64.
  template <class F>
  std::size_t for_each(F&& f) {
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].op != nullptr) f(*slots_[i].op);
    return slots_.size();
  }
  std::size_t size() const noexcept {
    std::size_t used = 0;
    for (const Slot& slot : slots_) used += slot.op != nullptr;
    return used;
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;
  struct Slot {
    Op* op = nullptr;
    std::uint32_t generation = 1;  // never 0, so that no valid name is 0, or a wire::SyncName
    std::uint32_t next_free = kNone;
  };
  /// Takes the first slot of the free list for the operation. Returns the operation's name.
  wire::OpId use_slot(std::uint32_t& list, Op* op) noexcept {
    const std::uint32_t index = list;
    Slot& slot = slots_[index];
    list = slot.next_free;
    slot.op = op;
    return (static_cast<std::uint64_t>(slot.generation) << 32) | index;
  }
  void free_slot(std::uint32_t index) noexcept {
    std::uint32_t& list = index < wire::kSyncSlots ? free_low_ : free_high_;
    slots_[index].next_free = list;
    list = index;
  }
  void grow() {
    const auto first = static_cast<std::uint32_t>(slots_.size());
    const std::uint32_t more = first == 0 ? 64 : first;
    slots_.resize(first + more);
    for (std::uint32_t i = first + more; i-- > first;) free_slot(i);
  }
  std::vector<Slot> slots_;
  std::uint32_t free_low_ = kNone, free_high_ = kNone;
};

using OpTable = NameTable<Operation>;

}  // namespace stria::rndv
