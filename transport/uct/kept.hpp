// Names payloads that stay in UCX's receive buffers until the worker gives them back (group keep of the
// provider contract). A payload's name is the number of its slot plus 1. When all slots are taken, payloads
// are delivered without a name, and the worker copies them.
#pragma once

#include <uct/api/uct.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace stria::uct {

class Kept {
 public:
  Kept() noexcept {
    for (std::size_t i = 0; i < kMost; ++i) free_[i] = static_cast<std::uint16_t>(kMost - 1 - i);
  }
  ~Kept() { release_all(); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  /// Takes a slot for a payload that the worker may keep, and returns the payload's name; 0: no slot is free.
  /// `buffer`: the descriptor that is given back to UCX in the end.
  std::uint64_t offer(void* buffer) noexcept {
    if (free_count_ == 0) return 0;
    const std::uint16_t slot = free_[--free_count_];
    buffers_[slot] = buffer;
    return slot + std::uint64_t{1};
  }
  /// Frees the slot without giving the buffer back: the worker did not keep the payload. 0: does nothing.
  void withdraw(std::uint64_t name) noexcept {
    if (name == 0) return;
    const auto slot = static_cast<std::uint16_t>(name - 1);
    buffers_[slot] = nullptr;
    free_[free_count_++] = slot;
  }
  /// Gives the buffer of a kept payload back to UCX and frees the slot.
  void release(std::uint64_t name) noexcept {
    uct_iface_release_desc(buffers_[name - 1]);
    withdraw(name);
  }
  /// Gives all buffers back. Called before the interface is closed.
  void release_all() noexcept {
    for (std::size_t slot = 0; slot < kMost; ++slot)
      if (buffers_[slot] != nullptr) release(slot + 1);
  }

 private:
  static constexpr std::size_t kMost = 256;  // a transport has many more buffers, or makes more when needed

  std::array<void*, kMost> buffers_{};       // null: the slot is free
  std::array<std::uint16_t, kMost> free_{};  // the first free_count_ are the free slots
  std::size_t free_count_ = kMost;
};

}  // namespace stria::uct
