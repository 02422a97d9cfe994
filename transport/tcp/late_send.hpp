// Bytes that the kernel sends at a deadline, while the application computes, unless they are taken back
// before. Belongs to one socket.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "base/fd.hpp"
#include "transport/tcp/kernel_queue.hpp"

namespace stria::tcp {

class LateSend final : KernelQueue::Operation {
 public:
  explicit LateSend(Token owner) noexcept : Operation(owner) {}
  LateSend(const LateSend&) = delete;
  LateSend& operator=(const LateSend&) = delete;
  ~LateSend() override { take_back(); }

  /// The bytes are read, and sent as far as there is room, when `delay` is over. False: the kernel takes no
  /// more, or several threads have called.
  bool arm(KernelQueue& queue, const UniqueFd& socket, std::span<const std::byte> bytes,
           std::chrono::nanoseconds delay) noexcept;
  /// Until end() is called.
  bool is_armed() const noexcept { return is_armed_; }
  /// Another thread than the one that armed it calls, or has called: the kernel may be reading the bytes now.
  bool is_shared() const noexcept { return is_armed_ && queue_->is_shared(); }
  /// The deadline is over, and the kernel reads the bytes no more. For one that is armed.
  bool has_passed() noexcept;
  /// The kernel reads the bytes no more.
  void take_back() noexcept;
  struct Result {
    std::size_t sent;  ///< bytes
    int error;         ///< of the connection; 0: none
  };
  /// What the kernel has done. The deadline has passed, or was taken back.
  Result end() noexcept;

 private:
  void over(int result) noexcept override;

  KernelQueue* queue_ = nullptr;
  Result result_{};
  bool is_armed_ = false;
};

}  // namespace stria::tcp
