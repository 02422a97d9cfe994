// Bytes of one socket that the kernel sends at a deadline, also while the application computes, unless they
// are taken back before.
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

  /// Sets the deadline: when `delay` is over, the kernel reads the bytes and sends as many as there is room
  /// for. False: the kernel takes no more, or several threads have called.
  bool arm(KernelQueue& queue, const UniqueFd& socket, std::span<const std::byte> bytes,
           std::chrono::nanoseconds delay) noexcept;
  /// Whether a deadline was set, and end() was not called since.
  bool is_armed() const noexcept { return is_armed_; }
  /// Whether another thread than the one that set the deadline calls, or has called: the kernel may be
  /// reading the bytes at this moment.
  bool is_shared() const noexcept { return is_armed_ && queue_->is_shared(); }
  /// Whether the deadline is over and the kernel does not read the bytes any more. Only while is_armed().
  bool has_passed() noexcept;
  /// Cancels the deadline. On return the kernel does not read the bytes any more; it may have sent some.
  void take_back() noexcept;
  struct Result {
    std::size_t sent;  ///< bytes that the kernel has sent
    int error;         ///< the errno of a connection that was reset; 0: no reset was found
  };
  /// Ends the deadline, which has passed or was taken back. Returns what the kernel has done.
  Result end() noexcept;

 private:
  void step_has_ended(int result) noexcept override;

  KernelQueue* queue_ = nullptr;
  Result result_{};
  bool is_armed_ = false;
};

}  // namespace stria::tcp
