// Layouts that cross processes with keys: the owner publishes a layout's descriptor once, keys name it by
// number and generation, peers decode it once and keep it. Number 0 stands for contiguous memory and is never
// published.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/status.hpp"
#include "datatype/layout.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

struct LayoutName {
  std::uint32_t number = 0;
  std::uint32_t generation = 0;
};

/// The owner's side. One thread. A name is in use while keys count on it; only unused ones are given to other
/// layouts.
class PublishedLayouts {
 public:
  PublishedLayouts() = default;
  explicit PublishedLayouts(const SegmentView& segment);

  /// Names `layout` and counts one use. O(1) for a layout that has a name; a new one is encoded. unsupported:
  /// its descriptor is longer than kDescriptorBytes; no_resource: all numbers are in use by others.
  Status acquire(const datatype::Layout& layout, LayoutName& name) noexcept;
  void release(std::uint32_t number) noexcept;

 private:
  struct Entry {
    std::optional<datatype::Layout> layout;  // kept alive, so that its identity cannot be taken by another
    std::uint32_t uses = 0;
    std::uint32_t next = 0;  // of its place in the index
  };
  static constexpr std::uint32_t kIndex = 1024;  // chains, by hash: what is published is found
  /// Descriptors that were too long, by their layouts' hashes, so that a message is refused without encoding
  /// it again. Two layouts of one hash: the second goes another way too, which is no harm.
  static constexpr std::size_t kRefused = 64;
  std::array<std::size_t, kRefused> refused_{};
  std::uint32_t& place_of(const datatype::Layout& layout) noexcept;
  std::uint32_t find(const datatype::Layout& layout) noexcept;
  void enter(const datatype::Layout& layout, std::uint32_t number) noexcept;
  Status publish(const datatype::Layout& layout, std::uint32_t& number) noexcept;

  SegmentView segment_{};
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> index_;
  const void* recent_ = nullptr;  // the layout object of the last call, and its number
  std::uint32_t recent_number_ = 0;
  std::uint32_t clock_ = 1;
};

/// A peer's side: one for each link. One thread.
class DecodedLayouts {
 public:
  /// What decoded layouts may take for one link. A peer that publishes more makes them be decoded again: 512
  /// layouts of 64 KiB each, while real ones take a few KiB.
  static constexpr std::size_t kDecodedMemory = std::size_t{32} << 20;

  /// The layout of that name, decoded on first use; null: it is not published (any more) or does not decode.
  /// Valid until the next call.
  const datatype::Layout* find(const SegmentView& segment, const LayoutName& name) noexcept;
  std::size_t memory() const noexcept { return memory_; }

 private:
  struct Entry {
    std::uint32_t generation;
    std::size_t memory;
    datatype::Layout layout;
  };
  std::vector<std::unique_ptr<Entry>> entries_;
  std::size_t memory_ = 0;  // of all entries
};

}  // namespace stria::shm
