#include "transport/tcp/bell.hpp"

#include <cerrno>
#include <cstring>

#include "base/format.hpp"

#ifdef STRIA_HAS_URING

#include <liburing.h>
#include <poll.h>
#include <pthread.h>

namespace stria::tcp {

struct Bell::Ring {
  io_uring kernel{};
  pthread_t owner = pthread_self();
  bool is_mine() const noexcept { return pthread_equal(owner, pthread_self()) != 0; }
};

Bell::Bell(int descriptor) : ring_(std::make_unique<Ring>()), descriptor_(descriptor) {}

/// Completions wait for the owner's next call, so that nothing of this interrupts what the application waits
/// for: with another kind of ring its epoll_wait would end early. A flag says that one waits.
Result<std::unique_ptr<Bell>> Bell::open(int descriptor) {
  static_assert(kHasNews == IORING_SQ_TASKRUN);
  constexpr unsigned kEntries = 2;
  io_uring_params how{};
  how.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
  std::unique_ptr<Bell> made(new Bell(descriptor));
  io_uring& kernel = made->ring_->kernel;
  if (const int failed = -io_uring_queue_init_params(kEntries, &kernel, &how); failed != 0) {
    kernel.ring_fd = -1;
    const bool is_forbidden = failed == ENOSYS || failed == EPERM || failed == EINVAL;
    return Error{is_forbidden ? Status::unsupported : Status::io_error,
                 fmt::format("io_uring is refused: {}", std::strerror(failed))};
  }
  made->tail_ = kernel.cq.ktail;
  made->head_ = kernel.cq.khead;
  made->flags_ = kernel.sq.kflags;
  return made;
}

Bell::~Bell() {
  if (ring_->kernel.ring_fd >= 0) io_uring_queue_exit(&ring_->kernel);
}

bool Bell::arm() noexcept {
  if (is_armed_) return true;
  if (!ring_->is_mine()) return false;
  io_uring_sqe* const request = io_uring_get_sqe(&ring_->kernel);
  if (request == nullptr) return false;
  io_uring_prep_poll_add(request, descriptor_, POLLIN);
  is_armed_ = io_uring_submit(&ring_->kernel) == 1;
  return is_armed_;
}

void Bell::answer() noexcept {
  if (!is_armed_ || !ring_->is_mine()) return;
  io_uring& kernel = ring_->kernel;
  if (io_uring_cq_ready(&kernel) == 0) static_cast<void>(io_uring_get_events(&kernel));
  const unsigned rings = io_uring_cq_ready(&kernel);
  io_uring_cq_advance(&kernel, rings);
  if (rings > 0) is_armed_ = false;
}

}  // namespace stria::tcp

#else

namespace stria::tcp {

struct Bell::Ring {};
Bell::Bell(int descriptor) : descriptor_(descriptor) {}
Bell::~Bell() = default;
bool Bell::arm() noexcept {
  return false;
}
void Bell::answer() noexcept {}

Result<std::unique_ptr<Bell>> Bell::open(int) {
  return Error{Status::unsupported, "stria was built without liburing-dev"};
}

}  // namespace stria::tcp

#endif
