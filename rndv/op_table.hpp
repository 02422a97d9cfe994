// NameTable: names for operations that a peer may hand back. A name is slot index and generation; a stale or
// invented one finds nothing, so no pointer ever crosses the wire.
#pragma once

#include <cstdint>
#include <vector>

#include "rndv/operation.hpp"

namespace stria::rndv {

template <class Op>
class NameTable {
 public:
  /// O(1); allocates only when more operations are in flight than ever before.
  wire::OpId insert(Op* op) {
    if (free_ == kNone) grow();
    const std::uint32_t index = free_;
    Slot& slot = slots_[index];
    free_ = slot.next_free;
    slot.op = op;
    return (static_cast<std::uint64_t>(slot.generation) << 32) | index;
  }
  /// The operation, or null when `id` is no name of a present one.
  Op* find(wire::OpId id) const noexcept {
    const auto index = static_cast<std::uint32_t>(id);
    if (index >= slots_.size()) return nullptr;
    const Slot& slot = slots_[index];
    return slot.generation == static_cast<std::uint32_t>(id >> 32) ? slot.op : nullptr;
  }
  void erase(wire::OpId id) noexcept {
    const auto index = static_cast<std::uint32_t>(id);
    Slot& slot = slots_[index];
    slot.op = nullptr;
    if (++slot.generation == 0) slot.generation = 1;
    slot.next_free = free_;
    free_ = index;
  }
  /// Calls f(Op&) for every operation; f may erase the one it is given.
  template <class F>
  void for_each(F&& f) {
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].op != nullptr) f(*slots_[i].op);
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
    std::uint32_t generation = 1;  // never 0, so that no valid name is 0
    std::uint32_t next_free = kNone;
  };
  void grow() {
    const auto first = static_cast<std::uint32_t>(slots_.size());
    const std::uint32_t more = first == 0 ? 64 : first;
    slots_.resize(first + more);
    for (std::uint32_t i = first; i < first + more; ++i)
      slots_[i].next_free = i + 1 < first + more ? i + 1 : kNone;
    free_ = first;
  }
  std::vector<Slot> slots_;
  std::uint32_t free_ = kNone;
};

using OpTable = NameTable<Operation>;

}  // namespace stria::rndv
