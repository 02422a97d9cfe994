#include "transport/tcp/wakeup.hpp"

#include <utility>

#ifdef STRIA_HAS_URING

#include <poll.h>

namespace stria::tcp {

Wakeup::Wakeup(int descriptor, std::unique_ptr<Ring> ring) : ring_(std::move(ring)), descriptor_(descriptor) {
  tail_ = ring_->kernel.cq.ktail;
  head_ = ring_->kernel.cq.khead;
  flags_ = ring_->kernel.sq.kflags;
}

/// Takes a deferred ring, which does not interrupt what the application waits for: with another kind a call
/// of epoll_wait() would end early.
Result<std::unique_ptr<Wakeup>> Wakeup::open(int descriptor) {
  static_assert(kHasNews == IORING_SQ_TASKRUN);
  constexpr unsigned kEntries = 2;
  auto ring = Ring::take(Ring::Kind::deferred, kEntries);
  if (!ring) return std::move(ring).error();
  return std::unique_ptr<Wakeup>(new Wakeup(descriptor, *std::move(ring)));
}

Wakeup::~Wakeup() {
  if (is_armed_ && !disarm())
    io_uring_queue_exit(&ring_->kernel);
  else
    Ring::give_back(std::move(ring_));
}

/// Takes back what arm() has asked for, and takes all completions. False: another thread made the ring, or
/// the kernel takes no request.
bool Wakeup::disarm() noexcept {
  if (!ring_->is_mine()) return false;
  io_uring& kernel = ring_->kernel;
  bool is_over = false;
  // Taking the poll back fails while it is about to complete. It may then find nothing and stay, so it is
  // taken back again until its completion has come.
  while (!is_over) {
    io_uring_sqe* const request = io_uring_get_sqe(&kernel);
    if (request == nullptr) return false;
    io_uring_prep_poll_remove(request, kPoll);
    request->user_data = kRemoval;
    if (io_uring_submit_and_wait(&kernel, 1) < 0) return false;
    unsigned head = 0;
    io_uring_cqe* completion = nullptr;
    io_uring_for_each_cqe(&kernel, head, completion) is_over |= completion->user_data == kPoll;
    io_uring_cq_advance(&kernel, io_uring_cq_ready(&kernel));
  }
  return true;
}

bool Wakeup::arm() noexcept {
  if (is_armed_) return true;
  if (!ring_->is_mine()) return false;
  io_uring_sqe* const request = io_uring_get_sqe(&ring_->kernel);
  if (request == nullptr) return false;
  io_uring_prep_poll_add(request, descriptor_, POLLIN);
  request->user_data = kPoll;
  is_armed_ = io_uring_submit(&ring_->kernel) == 1;
  return is_armed_;
}

void Wakeup::clear() noexcept {
  if (!is_armed_ || !ring_->is_mine()) return;
  io_uring& kernel = ring_->kernel;
  if (io_uring_cq_ready(&kernel) == 0) static_cast<void>(io_uring_get_events(&kernel));
  const unsigned events = io_uring_cq_ready(&kernel);
  io_uring_cq_advance(&kernel, events);
  if (events > 0) is_armed_ = false;
}

}  // namespace stria::tcp

#else

namespace stria::tcp {

Wakeup::Wakeup(int descriptor, std::unique_ptr<Ring> ring)
    : ring_(std::move(ring)), descriptor_(descriptor) {}
Wakeup::~Wakeup() = default;
bool Wakeup::arm() noexcept {
  return false;
}
void Wakeup::clear() noexcept {}

Result<std::unique_ptr<Wakeup>> Wakeup::open(int) {
  return Error{Status::unsupported, "stria was built without liburing-dev"};
}

}  // namespace stria::tcp

#endif
