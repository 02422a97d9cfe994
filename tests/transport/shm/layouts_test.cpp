// What a link keeps of the layouts that its peer has published.
#include "transport/shm/layouts.hpp"

#include <gtest/gtest.h>

#include "datatype/descriptor.hpp"
#include "tests/transport/shm/layout_slots.hpp"

namespace stria::shm::test {
namespace {

constexpr std::uint32_t kGeneration = 7;

/// 4 KB that give a tree of some hundred KiB: 400 parts of 62 runs each.
std::vector<std::byte> dear_descriptor(std::uint8_t stride) {
  std::vector<std::uint8_t> wire{1, 0, 0, 0, 0, 4, 0x90, 3};  // 400 parts
  wire.resize(wire.size() + 399);
  for (int i = 0; i < 400; ++i) wire.insert(wire.end(), {1, 2, stride, 1, 31, 4, 0, 1});
  const auto bytes = std::as_bytes(std::span(wire));
  return {bytes.begin(), bytes.end()};
}

TEST(ShmLayouts, of_a_hostile_peer_take_bounded_memory) {
  Slots slots;
  for (std::uint32_t i = 1; i < kLayoutSlots; ++i)
    slots.publish(i, kGeneration, dear_descriptor(static_cast<std::uint8_t>(i % 128)));
  DecodedLayouts decoded;
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t i = 1; i < kLayoutSlots; ++i) {
      const datatype::Layout* layout = decoded.find(slots.segment(), {i, kGeneration});
      ASSERT_NE(layout, nullptr) << i;
      ASSERT_EQ(layout->block_count(), 400 * 62);
      ASSERT_GE(decoded.memory(), datatype::memory_of(layout->root()));
      ASSERT_LE(decoded.memory(), DecodedLayouts::kDecodedMemory);
    }
  EXPECT_EQ(decoded.find(slots.segment(), {1, kGeneration + 1}), nullptr);
}

TEST(ShmLayouts, that_take_little_are_decoded_once) {
  Slots slots;
  std::vector<std::int64_t> at;
  for (std::int64_t i = 0; i < 1000; ++i) at.push_back(i * 40 + i % 7);
  for (std::uint32_t i = 1; i < kLayoutSlots; ++i)
    slots.publish(
        i, kGeneration,
        datatype::encode(*datatype::Layout::indexed_block(i % 16 + 1, at, datatype::Layout::bytes(1))));
  DecodedLayouts decoded;
  std::vector<const datatype::Layout*> first{nullptr};
  for (std::uint32_t i = 1; i < kLayoutSlots; ++i)
    first.push_back(decoded.find(slots.segment(), {i, kGeneration}));
  for (std::uint32_t i = 1; i < kLayoutSlots; ++i) {
    ASSERT_NE(first[i], nullptr);
    ASSERT_EQ(decoded.find(slots.segment(), {i, kGeneration}), first[i]) << i;
  }
}

}  // namespace
}  // namespace stria::shm::test
