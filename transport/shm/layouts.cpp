#include "transport/shm/layouts.hpp"

#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "datatype/descriptor.hpp"
#include "hw/pio.hpp"

namespace stria::shm {

PublishedLayouts::PublishedLayouts(const SegmentView& segment)
    : segment_(segment), entries_(kLayoutSlots), index_(kIndex, 0) {}

Status PublishedLayouts::acquire(const datatype::Layout& layout, LayoutName& name) noexcept {
  std::uint32_t number = 0;
  // Equality of layouts that share their representation is a pointer comparison.
  if (recent_ == &layout && entries_[recent_number_].layout && *entries_[recent_number_].layout == layout) {
    number = recent_number_;
  } else {
    number = find(layout);
    if (number == 0)
      if (const Status status = publish(layout, number); status != Status::ok) return status;
    recent_ = &layout;
    recent_number_ = number;
  }
  ++entries_[number].uses;
  name = {number, segment_.layout(number).generation.load(std::memory_order_relaxed)};
  return Status::ok;
}

void PublishedLayouts::release(std::uint32_t number) noexcept {
  if (number != 0 && number < entries_.size() && entries_[number].uses > 0) --entries_[number].uses;
}

/// The chain of a layout in the index. The hash is folded: hashes of layouts whose extents are multiples of
/// pages differ only in their high bits.
std::uint32_t& PublishedLayouts::place_of(const datatype::Layout& layout) noexcept {
  const std::uint64_t hash = layout.hash();
  return index_[(hash ^ (hash >> 32)) % kIndex];
}

std::uint32_t PublishedLayouts::find(const datatype::Layout& layout) noexcept {
  std::uint32_t number = place_of(layout);
  while (number != 0 && !(*entries_[number].layout == layout)) number = entries_[number].next;
  return number;
}

/// Enters a layout under `number` in the index, and removes the layout that had this number before.
void PublishedLayouts::enter(const datatype::Layout& layout, std::uint32_t number) noexcept {
  Entry& entry = entries_[number];
  if (entry.layout) {
    std::uint32_t* at = &place_of(*entry.layout);
    while (*at != number) at = &entries_[*at].next;
    *at = entry.next;
  }
  entry.layout = layout;
  entry.next = std::exchange(place_of(layout), number);
}

Status PublishedLayouts::publish(const datatype::Layout& layout, std::uint32_t& number) noexcept {
  const std::size_t hash = layout.hash();
  std::size_t& refused = refused_[hash % kRefused];
  if (refused == hash && hash != 0) return Status::unsupported;
  try {
    const auto descriptor = datatype::encode(layout, kDescriptorBytes);
    if (!descriptor) {
      refused = hash;
      return Status::unsupported;
    }
    std::uint32_t tries = 0;
    do {
      if (tries++ == kLayoutSlots) return Status::no_resource;
      number = clock_;
      clock_ = clock_ + 1 == kLayoutSlots ? 1 : clock_ + 1;
    } while (entries_[number].uses > 0);
    LayoutSlot& slot = segment_.layout(number);
    // The generation is changed before the bytes: a peer that has read bytes of the new layout sees that the
    // generation is another one.
    slot.generation.fetch_add(1, std::memory_order_relaxed);
    hw::store_fence();  // pairs with the load_fence() of find()
    slot.bytes.store(static_cast<std::uint32_t>(descriptor->size()), std::memory_order_relaxed);
    std::memcpy(slot.descriptor, descriptor->data(), descriptor->size());
    enter(layout, number);
    return Status::ok;  // the release is the caller's: it binds the key that names the layout
  } catch (const std::bad_alloc&) {
    return Status::unsupported;
  }
}

const datatype::Layout* DecodedLayouts::find(const SegmentView& segment, const LayoutName& name) noexcept {
  if (name.number == 0 || name.number >= kLayoutSlots) return nullptr;
  try {
    if (entries_.empty()) entries_.resize(kLayoutSlots);
    auto& entry = entries_[name.number];
    if (entry && entry->generation == name.generation) return &entry->layout;
    const LayoutSlot& slot = segment.layout(name.number);
    if (slot.generation.load(std::memory_order_acquire) != name.generation) return nullptr;
    const std::uint32_t bytes = slot.bytes.load(std::memory_order_relaxed);
    if (bytes > kDescriptorBytes) return nullptr;
    std::array<std::byte, kDescriptorBytes> copy;
    std::memcpy(copy.data(), slot.descriptor, bytes);
    hw::load_fence();
    if (slot.generation.load(std::memory_order_relaxed) != name.generation) return nullptr;
    auto layout = datatype::decode({copy.data(), bytes});
    if (!layout) return nullptr;
    const std::size_t memory = datatype::memory_of(layout->root());
    if (entry) memory_ -= entry->memory;
    entry = nullptr;
    if (memory_ + memory > kDecodedMemory) {
      for (auto& other : entries_) other = nullptr;
      memory_ = 0;
    }
    entry = std::make_unique<Entry>(Entry{name.generation, memory, *std::move(layout)});
    memory_ += memory;
    return &entry->layout;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace stria::shm
