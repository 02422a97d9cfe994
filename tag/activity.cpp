#include "tag/activity.hpp"

namespace stria::tag {

void Activity::add_to_backlog(Peer& peer) noexcept {
  if (peer.linked()) return;
  backlog_.push_back(&peer);
  work_left();
}

void Activity::wake() noexcept {
  armed_ = false;
  if (threads_) alarm_.ring();
}

void Activity::set_armed(std::int64_t ms) noexcept {
  if (sleepers_ == 0) alarm_.silence();
  alarm_.wake_after(ms);
  armed_ = true;
}

int Activity::bell_fd() noexcept {
  if (sleepers_ == 0) alarm_.silence();
  return alarm_.bell_fd();
}

bool Activity::wake_up() noexcept {
  --sleepers_;
  const bool disturbed = !armed_;
  if (sleepers_ == 0) {
    armed_ = false;
    alarm_.silence();
  }
  return disturbed;
}

}  // namespace stria::tag
