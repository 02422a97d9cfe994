// stria.h: tagged messages and requests.
#include <sched.h>

#include "tag/api/convert.hpp"

using namespace stria;
using namespace stria::tag;

namespace {

constexpr unsigned kSpinsBeforeYield = 2048;  // idle polls before the core is offered to others

stria_status_t report(Status status, const char* what) noexcept {
  if (status == Status::invalid) [[unlikely]]
    return refuse(status, "{}: count and layout describe no memory of 64 bits", what);
  if (status == Status::peer_failed) [[unlikely]]
    return refuse(status, "{}: the peer is gone", what);
  return transport::to_c(status);
}

}  // namespace

extern "C" {

stria_status_t stria_send(stria_endpoint_t* handle, const stria_send_t* send, stria_request_t* request) {
  Endpoint& endpoint = *as_endpoint(handle);
  const Locked lock(*endpoint.worker);
  return report(endpoint.worker->send(*endpoint.peer, *send, request), "stria_send");
}

stria_status_t stria_recv(stria_worker_t* handle, const stria_recv_t* recv, stria_request_t* request) {
  Worker& worker = *as_worker(handle);
  const Locked lock(worker);
  return report(worker.recv(*recv, nullptr, request), "stria_recv");
}

stria_status_t stria_request_test(const stria_request_t* handle, stria_info_t* info) {
  const Request& request = *as_request(handle);
  if (request.state.load(std::memory_order_acquire) != RequestState::done) return STRIA_IN_PROGRESS;
  if (info != nullptr) *info = request.info;
  return STRIA_OK;
}

stria_status_t stria_request_wait(stria_worker_t* worker, stria_request_t* handle, stria_info_t* info) {
  const Request& request = *as_request(handle);
  for (unsigned idle = 0; request.state.load(std::memory_order_acquire) != RequestState::done;) {
    if (stria_worker_progress(worker) > 0) {
      idle = 0;
    } else if (++idle >= kSpinsBeforeYield) {
      idle = 0;
      ::sched_yield();
    }
  }
  if (info != nullptr) *info = request.info;
  return request.info.status;
}

stria_status_t stria_request_cancel(stria_worker_t* handle, stria_request_t* request) {
  const Locked lock(*as_worker(handle));
  return transport::to_c(as_worker(handle)->cancel(*as_request(request)));
}

stria_status_t stria_probe(stria_worker_t* handle, const stria_match_t* match, stria_info_t* info) {
  const Locked lock(*as_worker(handle));
  return as_worker(handle)->probe(*match, false, info) != nullptr ? STRIA_OK : STRIA_IN_PROGRESS;
}

stria_status_t stria_mprobe(stria_worker_t* handle, const stria_match_t* match, stria_message_t** message,
                            stria_info_t* info) {
  const Locked lock(*as_worker(handle));
  Unexpected* taken = as_worker(handle)->probe(*match, true, info);
  *message = reinterpret_cast<stria_message_t*>(taken);
  return taken != nullptr ? STRIA_OK : STRIA_IN_PROGRESS;
}

stria_status_t stria_mrecv(stria_worker_t* handle, stria_message_t* message, const stria_recv_t* recv,
                           stria_request_t* request) {
  Worker& worker = *as_worker(handle);
  const Locked lock(worker);
  stria_recv_t plain = *recv;
  plain.match = {};
  return report(worker.recv(plain, reinterpret_cast<Unexpected*>(message), request), "stria_mrecv");
}

}  // extern "C"
