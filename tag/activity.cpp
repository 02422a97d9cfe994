#include "tag/activity.hpp"

namespace stria::tag {

void Activity::add_to_backlog(Peer& peer) noexcept {
  if (peer.linked()) return;
  backlog_.push_back(&peer);
  work_left();
}

void Activity::wake() noexcept {
  armed_ = false;
  if (threads_) alarm_.notify();
}

void Activity::set_armed(std::int64_t ms) noexcept {
  if (sleepers_ == 0) alarm_.clear();
  alarm_.wake_after(ms);
  armed_ = true;
}

int Activity::wakeup_fd() noexcept {
  if (sleepers_ == 0) alarm_.clear();
  return alarm_.wakeup_fd();
}

bool Activity::wake_up() noexcept {
  --sleepers_;
  const bool disturbed = !armed_;
  if (sleepers_ == 0) {
    armed_ = false;
    alarm_.clear();
  }
  return disturbed;
}

}  // namespace stria::tag
