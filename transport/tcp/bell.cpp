#include "transport/tcp/bell.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "base/format.hpp"

#ifdef STRIA_HAS_URING

#include <liburing.h>
#include <poll.h>
#include <unistd.h>

namespace stria::tcp {

struct Bell::Ring {
  io_uring kernel{};
  pid_t owner = ::gettid();  // also another one after fork()
  bool is_mine() const noexcept { return owner == ::gettid(); }
};

namespace {

/// Rings of bells that went, each for the next bell of its thread. The kernel takes a ring down some time
/// after it was closed, and interrupts its thread then: a call that waits, such as recv() with a time limit,
/// would end early in a program that has nothing to do with it. So rings stay until the process ends.
template <class Ring>
class Shelf {
 public:
  static Shelf& of_process() {
    static auto* const shelf = new Shelf;  // never destroyed: a bell may go later than the statics
    return *shelf;
  }
  std::unique_ptr<Ring> take() {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(rings_, [](const auto& ring) { return ring->is_mine(); });
    if (found == rings_.end()) return nullptr;
    std::unique_ptr<Ring> out = std::move(*found);
    rings_.erase(found);
    return out;
  }
  void put(std::unique_ptr<Ring> ring) {
    const std::lock_guard lock(mutex_);
    rings_.push_back(std::move(ring));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Ring>> rings_;
};

}  // namespace

Bell::Bell(int descriptor, std::unique_ptr<Ring> ring) : ring_(std::move(ring)), descriptor_(descriptor) {
  tail_ = ring_->kernel.cq.ktail;
  head_ = ring_->kernel.cq.khead;
  flags_ = ring_->kernel.sq.kflags;
}

/// Completions wait for the owner's next call, so that nothing of this interrupts what the application waits
/// for: with another kind of ring its epoll_wait would end early. A flag says that one waits.
Result<std::unique_ptr<Bell>> Bell::open(int descriptor) {
  static_assert(kHasNews == IORING_SQ_TASKRUN);
  constexpr unsigned kEntries = 2;
  if (auto ring = Shelf<Ring>::of_process().take())
    return std::unique_ptr<Bell>(new Bell(descriptor, std::move(ring)));
  io_uring_params how{};
  how.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
  auto ring = std::make_unique<Ring>();
  if (const int failed = -io_uring_queue_init_params(kEntries, &ring->kernel, &how); failed != 0) {
    // ENOMEM: what the user's processes may lock of memory (RLIMIT_MEMLOCK) is used up.
    const bool is_forbidden = failed == ENOSYS || failed == EPERM || failed == EINVAL || failed == ENOMEM;
    return Error{is_forbidden ? Status::unsupported : Status::io_error,
                 fmt::format("io_uring is refused: {}", std::strerror(failed))};
  }
  return std::unique_ptr<Bell>(new Bell(descriptor, std::move(ring)));
}

Bell::~Bell() {
  if (is_armed_ && !disarm())
    io_uring_queue_exit(&ring_->kernel);
  else
    Shelf<Ring>::of_process().put(std::move(ring_));
}

/// Takes back what arm() asked for, and all completions. False: another thread's ring.
bool Bell::disarm() noexcept {
  if (!ring_->is_mine()) return false;
  io_uring& kernel = ring_->kernel;
  bool is_over = false;
  // Taking it back fails where it is about to complete; and then it may find nothing, and stay.
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

bool Bell::arm() noexcept {
  if (is_armed_) return true;
  if (!ring_->is_mine()) return false;
  io_uring_sqe* const request = io_uring_get_sqe(&ring_->kernel);
  if (request == nullptr) return false;
  io_uring_prep_poll_add(request, descriptor_, POLLIN);
  request->user_data = kPoll;
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
Bell::Bell(int descriptor, std::unique_ptr<Ring> ring) : ring_(std::move(ring)), descriptor_(descriptor) {}
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
