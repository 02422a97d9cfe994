#include "transport/tcp/kernel_queue.hpp"

#include <utility>

namespace stria::tcp {

bool KernelQueue::send(const UniqueFd& socket, std::span<const Step> steps, Operation& operation) noexcept {
  return begin(Way::out, socket, steps, operation);
}

bool KernelQueue::receive(const UniqueFd& socket, std::span<const Step> steps,
                          Operation& operation) noexcept {
  return begin(Way::in, socket, steps, operation);
}

KernelQueue::Operation* KernelQueue::next() noexcept {
  if (ended_.empty()) update();
  return ended_.pop_front();
}

#ifdef STRIA_HAS_URING

Result<std::unique_ptr<KernelQueue>> KernelQueue::open() {
  constexpr unsigned kEntries = 128;
  auto ring = Ring::take(Ring::Kind::cooperative, kEntries);
  if (!ring) return std::move(ring).error();
  return std::unique_ptr<KernelQueue>(new KernelQueue(*std::move(ring)));
}

KernelQueue::~KernelQueue() {
  update();
  Ring::give_back(std::move(ring_));
}

namespace {

/// Set while something that completed is not in the completion queue: a system call brings it there.
constexpr unsigned kWaits = IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW;

/// Fills a request with a step. By MSG_WAITALL a step that moves only a part of its bytes fails, and the
/// kernel begins none of the steps that are linked behind it.
void prepare(io_uring_sqe* request, bool sends, int socket, const KernelQueue::Step& step) noexcept {
  const int flags = sends ? MSG_WAITALL | MSG_NOSIGNAL : MSG_WAITALL;
  if (step.runs.size() == 1 && sends) {
    io_uring_prep_send(request, socket, step.runs[0].iov_base, step.runs[0].iov_len, flags);
  } else if (step.runs.size() == 1) {
    io_uring_prep_recv(request, socket, step.runs[0].iov_base, step.runs[0].iov_len, flags);
  } else {
    *step.header = {};
    step.header->msg_iov = const_cast<iovec*>(step.runs.data());
    step.header->msg_iovlen = step.runs.size();
    if (sends)
      io_uring_prep_sendmsg(request, socket, step.header, static_cast<unsigned>(flags));
    else
      io_uring_prep_recvmsg(request, socket, step.header, static_cast<unsigned>(flags));
  }
}

}  // namespace

bool KernelQueue::has_room(std::size_t requests) noexcept {
  return !is_shared() && io_uring_sq_space_left(&ring_->kernel) >= requests;
}

/// Where new requests begin (`first`), and how many older ones the kernel has not taken yet (`before`).
KernelQueue::Place KernelQueue::place() const noexcept {
  return {ring_->kernel.sq.sqe_tail, io_uring_sq_ready(&ring_->kernel)};
}

/// Hands the requests from `from` on over to the kernel, each a step of `operation`. Returns how many of them
/// the kernel has taken.
unsigned KernelQueue::submit(const Place& from, Operation& operation) noexcept {
  io_uring& kernel = ring_->kernel;
  const int submitted = io_uring_submit(&kernel);
  const unsigned all = submitted < 0 ? 0 : static_cast<unsigned>(submitted);
  const unsigned taken = all > from.before ? all - from.before : 0;
  // Requests that the kernel has not taken cannot be taken out of the ring: they become requests for nothing.
  for (unsigned i = from.first + taken; i != kernel.sq.sqe_tail; ++i) {
    io_uring_sqe* const request = &kernel.sq.sqes[i & kernel.sq.ring_mask];
    io_uring_prep_nop(request);
    io_uring_sqe_set_data(request, nullptr);
  }
  if (taken == 0) return 0;
  if (operation.linked()) operation.unlink();
  operation.steps_ = taken;
  return taken;
}

bool KernelQueue::begin(Way way, const UniqueFd& socket, std::span<const Step> steps,
                        Operation& operation) noexcept {
  if (!has_room(steps.size())) return false;
  io_uring& kernel = ring_->kernel;
  const Place from = place();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    io_uring_sqe* const request = io_uring_get_sqe(&kernel);
    prepare(request, way == Way::out, socket.get(), steps[i]);
    io_uring_sqe_set_data(request, &operation);
    if (i + 1 < steps.size()) request->flags |= IOSQE_IO_LINK;
  }
  return submit(from, operation) > 0;
}

bool KernelQueue::send_later(const UniqueFd& socket, std::span<const std::byte> bytes,
                             std::chrono::nanoseconds delay, Operation& operation) noexcept {
  constexpr unsigned kRequests = 2;
  if (!has_room(kRequests)) return false;
  io_uring& kernel = ring_->kernel;
  const Place from = place();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(delay);
  __kernel_timespec when{seconds.count(), (delay - seconds).count()};
  io_uring_sqe* const timer = io_uring_get_sqe(&kernel);
  io_uring_prep_timeout(timer, &when, 0, IORING_TIMEOUT_ETIME_SUCCESS);
  io_uring_sqe_set_data(timer, &operation);
  timer->flags |= IOSQE_IO_LINK;
  io_uring_sqe* const send = io_uring_get_sqe(&kernel);
  io_uring_prep_send(send, socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  io_uring_sqe_set_data(send, &operation);
  const unsigned taken = submit(from, operation);
  if (taken == 1) cancel(operation);  // the kernel has taken the delay, and not the send behind it
  return taken == kRequests;
}

bool KernelQueue::has_news() noexcept {
  const io_uring& kernel = ring_->kernel;
  static_cast<void>(is_shared());
  return !ended_.empty() || io_uring_cq_ready(&kernel) != 0 ||
         (__atomic_load_n(kernel.sq.kflags, __ATOMIC_RELAXED) & kWaits) != 0;
}

void KernelQueue::update() noexcept {
  io_uring& kernel = ring_->kernel;
  const auto flags = [&kernel] { return __atomic_load_n(kernel.sq.kflags, __ATOMIC_RELAXED); };
  do {  // completions that had no room in the completion queue come when there is some
    if ((flags() & kWaits) != 0) static_cast<void>(io_uring_get_events(&kernel));
    unsigned head = 0, count = 0;
    io_uring_cqe* completion = nullptr;
    io_uring_for_each_cqe(&kernel, head, completion) {
      ++count;
      auto* const operation = static_cast<Operation*>(io_uring_cqe_get_data(completion));
      if (operation == nullptr) continue;  // a request of cancel(), or a request for nothing
      --operation->steps_;
      operation->step_has_ended(completion->res);
      if (!operation->linked()) ended_.push_back(operation);
    }
    io_uring_cq_advance(&kernel, count);
  } while ((flags() & IORING_SQ_CQ_OVERFLOW) != 0);
}

void KernelQueue::cancel(Operation& operation) noexcept {
  io_uring& kernel = ring_->kernel;
  while (operation.is_under_way()) {
    if (io_uring_sqe* const request = io_uring_get_sqe(&kernel); request != nullptr) {
      io_uring_prep_cancel(request, &operation, 0);
      io_uring_sqe_set_data(request, nullptr);
    }
    static_cast<void>(io_uring_submit_and_wait(&kernel, 1));
    update();
  }
}

int KernelQueue::descriptor() const noexcept {
  return ring_->kernel.ring_fd;
}

#else

Result<std::unique_ptr<KernelQueue>> KernelQueue::open() {
  return Error{Status::unsupported, "stria was built without liburing-dev"};
}
KernelQueue::~KernelQueue() = default;
bool KernelQueue::begin(Way /*way*/, const UniqueFd& /*socket*/, std::span<const Step> /*steps*/,
                        Operation& /*operation*/) noexcept {
  return false;
}
bool KernelQueue::send_later(const UniqueFd& /*socket*/, std::span<const std::byte> /*bytes*/,
                             std::chrono::nanoseconds /*delay*/, Operation& /*operation*/) noexcept {
  return false;
}
bool KernelQueue::has_news() noexcept {
  return false;
}
void KernelQueue::update() noexcept {}
void KernelQueue::cancel(Operation& /*operation*/) noexcept {}
int KernelQueue::descriptor() const noexcept {
  return -1;
}

#endif

}  // namespace stria::tcp
