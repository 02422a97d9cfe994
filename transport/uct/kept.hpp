// Payloads that stay in UCX's receive buffers until the worker gives them back. Each has a slot, whose number
// is the name by which the contract calls it; when all slots are taken, payloads are copied as without the
// group.
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

  /// The name of a payload that may be kept; 0: there is no slot. `buffer`: what UCX is to be given back.
  std::uint64_t offer(void* buffer) noexcept {
    if (free_count_ == 0) return 0;
    const std::uint16_t slot = free_[--free_count_];
    buffers_[slot] = buffer;
    return slot + std::uint64_t{1};
  }
  /// It is not kept.
  void withdraw(std::uint64_t name) noexcept {
    if (name == 0) return;
    const auto slot = static_cast<std::uint16_t>(name - 1);
    buffers_[slot] = nullptr;
    free_[free_count_++] = slot;
  }
  void release(std::uint64_t name) noexcept {
    uct_iface_release_desc(buffers_[name - 1]);
    withdraw(name);
  }
  /// Before the interface is closed.
  void release_all() noexcept {
    for (std::size_t slot = 0; slot < kMost; ++slot)
      if (buffers_[slot] != nullptr) release(slot + 1);
  }

 private:
  static constexpr std::size_t kMost = 256;  // a transport has some thousands of buffers, or makes more

  std::array<void*, kMost> buffers_{};
  std::array<std::uint16_t, kMost> free_{};
  std::size_t free_count_ = kMost;
};

}  // namespace stria::uct
