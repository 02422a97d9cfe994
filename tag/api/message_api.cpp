// stria.h: tagged messages and requests.
#include "tag/api/convert.hpp"
#include "tag/api/waiting.hpp"
#include "tag/short_way.hpp"

using namespace stria;
using namespace stria::tag;

namespace {

constexpr std::uint32_t kSendFlags = STRIA_SEND_SYNCHRONOUS | STRIA_SEND_IMMEDIATE;
constexpr std::uint32_t kRecvFlags = STRIA_RECV_LOOK | STRIA_RECV_WAITS;

[[gnu::cold, gnu::noinline]] stria_status_t refuse_flags(const char* function, std::uint32_t flags) noexcept {
  return refuse(Status::invalid, "{}: flags {:#x} has bits without a meaning", function, flags);
}

/// Refuses a request that is NULL. A function of its own, so that the callers need no stack for the list of
/// arguments.
[[gnu::cold, gnu::noinline]] stria_status_t refuse_no_request(const char* function) noexcept {
  return refuse_null(function, {{"request", nullptr}});
}

/// Stores the outcome of a send that ended in the call that started it, for a later test or wait of its
/// request.
[[gnu::always_inline]] inline void end_send(stria_request_t* request, const stria_send_t& send,
                                            std::uint64_t bytes, std::uint64_t source) noexcept {
  Request::make_ended(request, {STRIA_OK, send.immediate, send.tag, bytes, 0, source});
}

// Cases that are rare, or need the lock, are in functions of their own, so that the short ways save no
// registers for them.

[[gnu::noinline]] stria_status_t send_long(const Endpoint& endpoint, const stria_send_t& send,
                                           stria_request_t* request) noexcept {
  constexpr const char* kName = "stria_send";
  if ((send.flags & ~kSendFlags) != 0) [[unlikely]]
    return refuse_flags(kName, send.flags);
  Worker& worker = *endpoint.worker;
  const Locked lock(worker);
  const bool short_way = worker.lock().shared() &&
                         worker.sends().try_inline(*endpoint.peer, send, endpoint.peer->link.inline_below);
  const Status status = short_way ? Status::ok : worker.sends().send(*endpoint.peer, send, request);
  if (status == Status::ok && request != nullptr) {
    const std::uint64_t bytes = send.layout == nullptr
                                    ? send.count
                                    : send.count * static_cast<std::uint64_t>(send.layout->value.size());
    end_send(request, send, bytes, worker.id());
  }
  return answer(status, kName, endpoint.peer);
}

/// Refuses a receive that has unknown flags, or a source that is no open endpoint of the worker; OK
/// otherwise.
stria_status_t check_recv(const char* function, const Worker& worker, const stria_recv_t& recv) noexcept {
  if ((recv.flags & ~kRecvFlags) != 0) return refuse_flags(function, recv.flags);
  return check_source(function, worker, recv.match);
}

/// The peer that the match names; null when it names none.
const Peer* source_of(const stria_match_t& match) noexcept {
  return match.source == nullptr ? nullptr : reinterpret_cast<const Endpoint*>(match.source)->peer;
}

[[gnu::noinline]] stria_status_t recv_long(Worker& worker, const stria_recv_t& recv,
                                           stria_request_t* request) noexcept {
  constexpr const char* kName = "stria_recv";
  if (const stria_status_t wrong = check_recv(kName, worker, recv); wrong != STRIA_OK) [[unlikely]]
    return wrong;
  return answer(worker.receives().recv(recv, nullptr, request), kName, source_of(recv.match));
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
    return no_memory("stria_send", send->layout, send->count);
  const Endpoint& endpoint = *as_endpoint(handle);
  Worker& worker = *endpoint.worker;
  if (!worker.lock().shared() &&
      worker.sends().try_inline(*endpoint.peer, *send, endpoint.peer->link.inline_below)) [[likely]] {
    if (request != nullptr) end_send(request, *send, send->count, worker.id());
    return STRIA_OK;
  }
  return send_long(endpoint, *send, request);
}

stria_status_t stria_send_wait(stria_endpoint_t* handle, const stria_send_t* send) {
  constexpr const char* kName = "stria_send_wait";
  if (any_null(handle, send)) [[unlikely]]
    return refuse_null(kName, {{"endpoint", handle}, {"send", send}});
  if ((send->flags & STRIA_SEND_IMMEDIATE) != 0) [[unlikely]]
    return refuse(Status::invalid, "{}: STRIA_SEND_IMMEDIATE contradicts waiting; use stria_send()", kName);
  Worker& worker = *as_endpoint(handle)->worker;
  if (const stria_status_t wrong = check_wait(kName, worker, send->callback); wrong != STRIA_OK) [[unlikely]]
    return wrong;
  stria_request_t request;
  return finish(stria_send(handle, send, &request), worker, request, nullptr);
}

stria_status_t stria_recv(stria_worker_t* handle, const stria_recv_t* recv, stria_request_t* request) {
  if (any_null(handle, recv, request)) [[unlikely]]
    return refuse_null("stria_recv", {{"worker", handle}, {"recv", recv}, {"request", request}});
  if (lacks_memory(recv->base, recv->layout, recv->count)) [[unlikely]]
    return no_memory("stria_recv", recv->layout, recv->count);
  Worker& worker = *as_worker(handle);
  if (worker.lock().shared()) [[unlikely]]
    return recv_shared(worker, *recv, request);
  const Status started = worker.try_post(*recv, request);
  if (started != Status::no_resource) [[likely]]
    return transport::to_c(started);
  return recv_long(worker, *recv, request);
}

stria_status_t stria_recv_wait(stria_worker_t* handle, const stria_recv_t* recv, stria_info_t* info) {
  constexpr const char* kName = "stria_recv_wait";
  if (any_null(handle, recv)) [[unlikely]]
    return refuse_null(kName, {{"worker", handle}, {"recv", recv}});
  Worker& worker = *as_worker(handle);
  if (const stria_status_t wrong = check_wait(kName, worker, recv->callback); wrong != STRIA_OK) [[unlikely]]
    return wrong;
  stria_recv_t looking = *recv;
  // The call makes progress in any case, so the receive may look, and callbacks may run. A worker that
  // threads share is not kept locked for the longer look of STRIA_RECV_WAITS.
  looking.flags |= worker.lock().shared() ? STRIA_RECV_LOOK : STRIA_RECV_LOOK | STRIA_RECV_WAITS;
  if (looking.info == nullptr) looking.info = info;
  stria_request_t request;
  return finish(stria_recv(handle, &looking, &request), worker, request, info);
}

stria_status_t stria_request_test(const stria_request_t* handle, stria_info_t* info) {
  if (handle == nullptr) [[unlikely]]
    return refuse_no_request("stria_request_test");
  const Request& request = *as_request(handle);
  if (request.state.load(std::memory_order_acquire) != RequestState::done) return STRIA_IN_PROGRESS;
  return outcome(request, info);
}

stria_status_t stria_request_wait(stria_worker_t* handle, stria_request_t* request, stria_info_t* info) {
  constexpr const char* kName = "stria_request_wait";
  if (any_null(handle, request)) [[unlikely]]
    return refuse_null(kName, {{"worker", handle}, {"request", request}});
  Worker& worker = *as_worker(handle);
  if (worker.inside_callback()) [[unlikely]]
    return refuse_inside_callback(kName);
  const Request& waited = *as_request(request);
  if (waited.state.load(std::memory_order_acquire) != RequestState::done &&
      waited.owner != &worker.activity()) [[unlikely]]
    return refuse_stranger(kName, "request", worker);
  return wait_for(worker, waited, info);
}

stria_status_t stria_request_cancel(stria_worker_t* handle, stria_request_t* request) {
  constexpr const char* kName = "stria_request_cancel";
  if (any_null(handle, request)) return refuse_null(kName, {{"worker", handle}, {"request", request}});
  Worker& worker = *as_worker(handle);
  const Locked lock(worker);
  const Status status = worker.receives().cancel(*as_request(request));
  switch (status) {
    case Status::invalid:
      return refuse_stranger(kName, "request", worker);
    case Status::no_resource:
      return refuse(status, "{}: too late, the operation ended or its message has arrived", kName);
    case Status::unsupported:
      return refuse(status, "{}: only a receive can be cancelled", kName);
    default:
      return transport::to_c(status);
  }
}

stria_status_t stria_probe(stria_worker_t* handle, const stria_match_t* match, stria_info_t* info) {
  if (any_null(handle, match)) [[unlikely]]
    return refuse_null("stria_probe", {{"worker", handle}, {"match", match}});
  Worker& worker = *as_worker(handle);
  if (const stria_status_t wrong = check_source("stria_probe", worker, *match); wrong != STRIA_OK)
      [[unlikely]]
    return wrong;
  const Locked lock(worker, LockedFor::look);
  if (worker.receives().probe(*match, false, info) != nullptr) return STRIA_OK;
  return answer(worker.receives().probe_later(*match), "stria_probe", source_of(*match));
}

stria_status_t stria_mprobe(stria_worker_t* handle, const stria_match_t* match, stria_message_t** message,
                            stria_info_t* info) {
  if (any_null(handle, match, message)) [[unlikely]]
    return refuse_null("stria_mprobe", {{"worker", handle}, {"match", match}, {"message", message}});
  *message = nullptr;
  Worker& worker = *as_worker(handle);
  if (const stria_status_t wrong = check_source("stria_mprobe", worker, *match); wrong != STRIA_OK)
      [[unlikely]]
    return wrong;
  const Locked lock(worker, LockedFor::look);
  Unexpected* taken = worker.receives().probe(*match, true, info);
  *message = reinterpret_cast<stria_message_t*>(taken);
  return taken != nullptr ? STRIA_OK
                          : answer(worker.receives().probe_later(*match), "stria_mprobe", source_of(*match));
}

stria_status_t stria_mrecv(stria_worker_t* handle, stria_message_t* message, const stria_recv_t* recv,
                           stria_request_t* request) {
  constexpr const char* kName = "stria_mrecv";
  if (any_null(handle, message, recv, request)) [[unlikely]]
    return refuse_null(kName,
                       {{"worker", handle}, {"message", message}, {"recv", recv}, {"request", request}});
  if (lacks_memory(recv->base, recv->layout, recv->count)) [[unlikely]]
    return no_memory(kName, recv->layout, recv->count);
  if ((recv->flags & ~kRecvFlags) != 0) [[unlikely]]
    return refuse_flags(kName, recv->flags);
  Worker& worker = *as_worker(handle);
  auto* taken = reinterpret_cast<Unexpected*>(message);
  const Locked lock(worker);
  if (!worker.receives().has_message(*taken)) [[unlikely]]
    return refuse(Status::invalid, "{}: message is none that stria_mprobe() of worker {:#x} gave", kName,
                  worker.id());
  stria_recv_t plain = *recv;
  plain.match = {};
  return answer(worker.receives().recv(plain, taken, request), kName, nullptr);
}

}  // extern "C"
