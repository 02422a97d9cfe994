// stria.h: tagged messages and requests.
#include <sched.h>

#include "tag/api/convert.hpp"
#include "tag/short_way.hpp"

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

[[gnu::cold, gnu::noinline]] stria_status_t no_memory(const char* function, std::uint64_t count) noexcept {
  return refuse(Status::invalid, "{}: base is NULL, but there are {} bytes and no layout", function, count);
}

// What is rare, or needs the lock, is in functions of its own, so that the short ways save no registers for
// it.

[[gnu::noinline]] stria_status_t send_long(const Endpoint& endpoint, const stria_send_t& send,
                                           stria_request_t* request) noexcept {
  const Locked lock(*endpoint.worker);
  if (endpoint.worker->lock().shared() &&
      endpoint.worker->try_send_inline(*endpoint.peer, send, endpoint.peer->link.inline_below))
    return STRIA_OK;
  return report(endpoint.worker->send(*endpoint.peer, send, request), "stria_send");
}

[[gnu::noinline]] stria_status_t recv_long(Worker& worker, const stria_recv_t& recv,
                                           stria_request_t* request) noexcept {
  return report(worker.recv(recv, nullptr, request), "stria_recv");
}

[[gnu::noinline]] stria_status_t recv_shared(Worker& worker, const stria_recv_t& recv,
                                             stria_request_t* request) noexcept {
  const Locked lock(worker);
  const Status started = worker.try_post(recv, request);
  return started != Status::no_resource ? transport::to_c(started) : recv_long(worker, recv, request);
}

}  // namespace

extern "C" {

stria_status_t stria_send(stria_endpoint_t* handle, const stria_send_t* send, stria_request_t* request) {
  if (any_null(handle, send)) [[unlikely]]
    return refuse_null("stria_send", {{"endpoint", handle}, {"send", send}});
  if (request == nullptr && (send->flags & STRIA_SEND_IMMEDIATE) == 0) [[unlikely]]
    return refuse_null("stria_send", {{"request", request}});
  if (lacks_memory(send->base, send->layout, send->count)) [[unlikely]]
    return no_memory("stria_send", send->count);
  const Endpoint& endpoint = *as_endpoint(handle);
  Worker& worker = *endpoint.worker;
  if (!worker.lock().shared() &&
      worker.try_send_inline(*endpoint.peer, *send, endpoint.peer->link.inline_below)) [[likely]]
    return STRIA_OK;
  return send_long(endpoint, *send, request);
}

stria_status_t stria_recv(stria_worker_t* handle, const stria_recv_t* recv, stria_request_t* request) {
  if (any_null(handle, recv, request)) [[unlikely]]
    return refuse_null("stria_recv", {{"worker", handle}, {"recv", recv}, {"request", request}});
  if (lacks_memory(recv->base, recv->layout, recv->count)) [[unlikely]]
    return no_memory("stria_recv", recv->count);
  Worker& worker = *as_worker(handle);
  if (worker.lock().shared()) [[unlikely]]
    return recv_shared(worker, *recv, request);
  const Status started = worker.try_post(*recv, request);
  if (started != Status::no_resource) [[likely]]
    return transport::to_c(started);
  return recv_long(worker, *recv, request);
}

stria_status_t stria_request_test(const stria_request_t* handle, stria_info_t* info) {
  if (handle == nullptr) [[unlikely]]
    return refuse_null("stria_request_test", {{"request", handle}});
  const Request& request = *as_request(handle);
  if (request.state.load(std::memory_order_acquire) != RequestState::done) return STRIA_IN_PROGRESS;
  if (info != nullptr) copy_info(*info, request.info);
  return STRIA_OK;
}

stria_status_t stria_request_wait(stria_worker_t* worker, stria_request_t* handle, stria_info_t* info) {
  if (any_null(worker, handle)) [[unlikely]]
    return refuse_null("stria_request_wait", {{"worker", worker}, {"request", handle}});
  const Request& request = *as_request(handle);
  for (unsigned idle = 0; request.state.load(std::memory_order_acquire) != RequestState::done;) {
    if (stria_worker_progress(worker) > 0) {
      idle = 0;
    } else if (++idle >= kSpinsBeforeYield) {
      idle = 0;
      ::sched_yield();
    }
  }
  if (info != nullptr) copy_info(*info, request.info);
  return request.info.status;
}

stria_status_t stria_request_cancel(stria_worker_t* handle, stria_request_t* request) {
  if (any_null(handle, request))
    return refuse_null("stria_request_cancel", {{"worker", handle}, {"request", request}});
  const Locked lock(*as_worker(handle));
  return transport::to_c(as_worker(handle)->cancel(*as_request(request)));
}

stria_status_t stria_probe(stria_worker_t* handle, const stria_match_t* match, stria_info_t* info) {
  if (any_null(handle, match)) [[unlikely]]
    return refuse_null("stria_probe", {{"worker", handle}, {"match", match}});
  const Locked lock(*as_worker(handle), LockedFor::look);
  Worker& worker = *as_worker(handle);
  if (worker.probe(*match, false, info) != nullptr) return STRIA_OK;
  return report(worker.probe_later(*match), "stria_probe");
}

stria_status_t stria_mprobe(stria_worker_t* handle, const stria_match_t* match, stria_message_t** message,
                            stria_info_t* info) {
  if (any_null(handle, match, message)) [[unlikely]]
    return refuse_null("stria_mprobe", {{"worker", handle}, {"match", match}, {"message", message}});
  const Locked lock(*as_worker(handle), LockedFor::look);
  Worker& worker = *as_worker(handle);
  Unexpected* taken = worker.probe(*match, true, info);
  *message = reinterpret_cast<stria_message_t*>(taken);
  return taken != nullptr ? STRIA_OK : report(worker.probe_later(*match), "stria_mprobe");
}

stria_status_t stria_mrecv(stria_worker_t* handle, stria_message_t* message, const stria_recv_t* recv,
                           stria_request_t* request) {
  if (any_null(handle, message, recv, request)) [[unlikely]]
    return refuse_null("stria_mrecv",
                       {{"worker", handle}, {"message", message}, {"recv", recv}, {"request", request}});
  if (lacks_memory(recv->base, recv->layout, recv->count)) [[unlikely]]
    return no_memory("stria_mrecv", recv->count);
  Worker& worker = *as_worker(handle);
  const Locked lock(worker);
  stria_recv_t plain = *recv;
  plain.match = {};
  return report(worker.recv(plain, reinterpret_cast<Unexpected*>(message), request), "stria_mrecv");
}

}  // extern "C"
