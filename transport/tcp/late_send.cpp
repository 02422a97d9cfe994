#include "transport/tcp/late_send.hpp"

#include <utility>

#include "transport/tcp/socket.hpp"

namespace stria::tcp {

bool LateSend::arm(KernelQueue& queue, const UniqueFd& socket, std::span<const std::byte> bytes,
                   std::chrono::nanoseconds delay) noexcept {
  queue_ = &queue;
  result_ = {};
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

LateSend::Result LateSend::end() noexcept {
  is_armed_ = false;
  if (linked()) unlink();
  return std::exchange(result_, {});
}

/// Called for the end of the deadline and for the end of the send. When the deadline is taken back, both end
/// with ECANCELED.
void LateSend::step_has_ended(int result) noexcept {
  if (result > 0) result_.sent = static_cast<std::size_t>(result);
  if (result < 0 && is_reset(-result)) result_.error = -result;
}

}  // namespace stria::tcp
