#include "transport/tcp/late_send.hpp"

#include <utility>

namespace stria::tcp {

bool LateSend::arm(KernelQueue& queue, const UniqueFd& socket, std::span<const std::byte> bytes,
                   std::chrono::nanoseconds delay) noexcept {
  queue_ = &queue;
  sent_ = 0;
  is_armed_ = queue.send_later(socket, bytes, delay, *this);
  return is_armed_;
}

bool LateSend::has_passed() noexcept {
  if (queue_->has_news()) queue_->update();
  return !is_under_way();
}

void LateSend::take_back() noexcept {
  if (is_armed_ && is_under_way()) queue_->cancel(*this);
}

std::size_t LateSend::end() noexcept {
  is_armed_ = false;
  if (linked()) unlink();
  return std::exchange(sent_, 0);
}

/// The end of the deadline and of the sending both come here. The next call of
/// send() meets an error of the connection again.
void LateSend::over(int result) noexcept {
  if (result > 0) sent_ = static_cast<std::size_t>(result);
}

}  // namespace stria::tcp
