// The published layouts of a segment, and nothing else of it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "transport/shm/segment.hpp"

namespace stria::shm::test {

/// The slots of published layouts alone: a segment of an empty shape has them at its start.
class Slots {
 public:
  Slots() : slots_(std::make_unique<LayoutSlot[]>(kLayoutSlots)) { EXPECT_EQ(plan(Shape{}).layouts, 0U); }
  SegmentView segment() const { return {reinterpret_cast<std::byte*>(slots_.get()), Shape{}}; }
  /// Publishes whatever a peer could write: nothing is checked but the room.
  void publish(std::uint32_t number, std::uint32_t generation, const std::vector<std::byte>& descriptor) {
    ASSERT_LE(descriptor.size(), kDescriptorBytes);
    LayoutSlot& slot = slots_[number];
    slot.generation = generation;
    slot.bytes = static_cast<std::uint32_t>(descriptor.size());
    std::memcpy(slot.descriptor, descriptor.data(), descriptor.size());
  }

 private:
  std::unique_ptr<LayoutSlot[]> slots_;
};

}  // namespace stria::shm::test
