// Published layouts: how the layout of a key's memory reaches the processes that use the key. The owner of
// the memory publishes the descriptor of the layout once, in its segment; keys name the layout by number and
// generation; each peer decodes the descriptor once and keeps the result. Number 0 stands for contiguous
// memory and is never published.
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

/// The layouts that a device has published. One thread. A number is in use while keys use it; only a number
/// that is not in use is given to another layout.
class PublishedLayouts {
 public:
  PublishedLayouts() = default;
  explicit PublishedLayouts(const SegmentView& segment);

  /// Gives the name of `layout`, which it publishes if it has none, and counts one use of its number. O(1)
  /// for a layout that has a name. Errors: unsupported: its descriptor is longer than kDescriptorBytes;
  /// no_resource: all numbers are in use by other layouts.
  Status acquire(const datatype::Layout& layout, LayoutName& name) noexcept;
  /// Ends one use of a number; nothing happens for 0.
  void release(std::uint32_t number) noexcept;

 private:
  struct Entry {
    std::optional<datatype::Layout> layout;  // a copy keeps it alive: no other layout gets its representation
    std::uint32_t uses = 0;
    std::uint32_t next = 0;  // number of the next layout in the chain of the index; 0: none
  };
  static constexpr std::uint32_t kIndex = 1024;  // chains of the index, a hash table of published layouts
  static constexpr std::size_t kRefused = 64;    // size of refused_
  /// Hashes of layouts whose descriptors were too long, so that these are refused without being encoded
  /// again. Another layout with such a hash is refused, too; its messages then take another path, which is
  /// no harm.
  std::array<std::size_t, kRefused> refused_{};
  std::uint32_t& place_of(const datatype::Layout& layout) noexcept;
  std::uint32_t find(const datatype::Layout& layout) noexcept;
  void enter(const datatype::Layout& layout, std::uint32_t number) noexcept;
  Status publish(const datatype::Layout& layout, std::uint32_t& number) noexcept;

  SegmentView segment_{};
  std::vector<Entry> entries_;        // by number
  std::vector<std::uint32_t> index_;  // by hash: number of the first layout of a chain; 0: none
  const void* recent_ = nullptr;      // the layout object of the last acquire(), and its number
  std::uint32_t recent_number_ = 0;
  std::uint32_t clock_ = 1;  // the number at which publish() begins to look for one that is not in use
};

/// The layouts of one peer, as this process has decoded them: one object for each link. One thread.
class DecodedLayouts {
 public:
  /// Bytes that decoded layouts of one link may take. Beyond it all are dropped, and decoded again when they
  /// are needed. It allows 512 layouts of 64 KiB each, while real ones take a few KiB.
  static constexpr std::size_t kDecodedMemory = std::size_t{32} << 20;

  /// The layout of that name in the peer's segment, decoded on first use. Null: it is not published (any
  /// more), cannot be decoded, or there is no memory. Valid until the next call.
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
