// stria.h: worker and endpoint.
#include <cstring>
#include <string_view>

#include "base/cache_line.hpp"
#include "tag/api/convert.hpp"

using namespace stria;
using namespace stria::tag;

namespace {

/// Apart, so that a worker of one thread does not save registers for it.
[[gnu::noinline]] unsigned progress_shared(Worker& worker) {
  if (!worker.lock().try_lock()) return 0;
  const unsigned handled = worker.progress();
  worker.lock().unlock();
  if (handled == 0) cpu_relax();  // without the lock, or it is taken nearly always while a thread waits
  return handled;
}

/// A link's text, for the thread that asked: the link makes another one when its path changes, which with
/// threads is as soon as the worker's lock is given up. A longer one is cut.
using Text = char[512];
thread_local Text path_text, fallback_text;

const char* keep(std::string_view text, Text& own) noexcept {
  own[text.copy(own, sizeof(own) - 1)] = '\0';
  return own;
}

}  // namespace

extern "C" {

stria_status_t stria_worker_open(stria_context_t* context, const stria_worker_params_t* params,
                                 stria_worker_t** out) {
  return at_boundary([&] {
    if (any_null(context, out)) return refuse_null("stria_worker_open", {{"context", context}, {"out", out}});
    *out = nullptr;
    if (params != nullptr && params->size != sizeof(*params))
      return refuse(Status::invalid, "stria_worker_params_t of {} bytes, this library knows {}", params->size,
                    sizeof(*params));
    auto worker =
        Worker::open(*as_context(context), params == nullptr ? STRIA_THREAD_SINGLE : params->thread_mode);
    if (!worker) return refuse(worker.error());
    *out = reinterpret_cast<stria_worker_t*>(worker->release());
    return STRIA_OK;
  });
}

void stria_worker_close(stria_worker_t* worker) {
  delete as_worker(worker);
}

uint64_t stria_worker_id(const stria_worker_t* worker) {
  return as_worker(worker)->id();
}

stria_status_t stria_worker_address(const stria_worker_t* worker, void* buffer, size_t* bytes) {
  if (any_null(worker, bytes))
    return refuse_null("stria_worker_address", {{"worker", worker}, {"bytes", bytes}});
  const auto& address = as_worker(worker)->address();
  const std::size_t room = *bytes;
  *bytes = address.size();
  if (room < address.size())
    return refuse(Status::invalid, "room for {} bytes, the address has {}", room, address.size());
  if (buffer == nullptr) return refuse_null("stria_worker_address", {{"buffer", buffer}});
  std::memcpy(buffer, address.data(), address.size());
  return STRIA_OK;
}

unsigned stria_worker_progress(stria_worker_t* handle) {
  Worker& worker = *as_worker(handle);
  return worker.lock().shared() ? progress_shared(worker) : worker.progress();
}

stria_status_t stria_worker_event_fd(stria_worker_t* handle, int* fd) {
  if (any_null(handle, fd)) return refuse_null("stria_worker_event_fd", {{"worker", handle}, {"fd", fd}});
  const Locked lock(*as_worker(handle));
  *fd = as_worker(handle)->event_fd();
  return *fd >= 0 ? STRIA_OK
                  : refuse(Status::unsupported,
                           "a provider in use has no descriptor to sleep on, or none is left");
}

stria_status_t stria_worker_arm(stria_worker_t* handle) {
  if (handle == nullptr) return refuse_null("stria_worker_arm", {{"worker", handle}});
  const Locked lock(*as_worker(handle));
  return transport::to_c(as_worker(handle)->arm());
}

stria_status_t stria_worker_wait(stria_worker_t* handle, int timeout_ms) {
  if (handle == nullptr) return refuse_null("stria_worker_wait", {{"worker", handle}});
  return transport::to_c(as_worker(handle)->wait(timeout_ms));
}

stria_status_t stria_worker_counters(stria_worker_t* handle, stria_counters_t* out) {
  if (any_null(handle, out)) return refuse_null("stria_worker_counters", {{"worker", handle}, {"out", out}});
  if (out->size != sizeof(*out))
    return refuse(Status::invalid, "stria_counters_t: set size to sizeof(stria_counters_t)");
  const Locked lock(*as_worker(handle));
  as_worker(handle)->counters(*out);
  return STRIA_OK;
}

stria_status_t stria_endpoint_open(stria_worker_t* handle, const stria_endpoint_params_t* params,
                                   stria_endpoint_t** out) {
  return at_boundary([&] {
    if (any_null(handle, params, out))
      return refuse_null("stria_endpoint_open", {{"worker", handle}, {"params", params}, {"out", out}});
    *out = nullptr;
    if (params->size != sizeof(*params) || params->address == nullptr)
      return refuse(Status::invalid, "stria_endpoint_params_t: size and address must be set");
    const Locked lock(*as_worker(handle));
    auto endpoint = as_worker(handle)->open_endpoint(*params);
    if (!endpoint) return refuse(endpoint.error());
    *out = reinterpret_cast<stria_endpoint_t*>(*endpoint);
    return STRIA_OK;
  });
}

stria_status_t stria_endpoint_connect(stria_endpoint_t* handle) {
  if (handle == nullptr) return refuse_null("stria_endpoint_connect", {{"endpoint", handle}});
  return at_boundary([&] {
    Endpoint& endpoint = *as_endpoint(handle);
    const Locked lock(*endpoint.worker);
    return transport::to_c(endpoint.worker->connect(*endpoint.peer));
  });
}

stria_status_t stria_endpoint_info(stria_endpoint_t* handle, stria_endpoint_state_t* out) {
  if (any_null(handle, out)) return refuse_null("stria_endpoint_info", {{"endpoint", handle}, {"out", out}});
  if (out->size != sizeof(*out))
    return refuse(Status::invalid, "stria_endpoint_state_t: set size to sizeof(stria_endpoint_state_t)");
  Endpoint& endpoint = *as_endpoint(handle);
  const Locked lock(*endpoint.worker);
  endpoint.worker->endpoint_state(endpoint, *out);
  out->path = keep(out->path, path_text);
  out->fallback = keep(out->fallback, fallback_text);
  return STRIA_OK;
}

void stria_endpoint_close(stria_endpoint_t* handle) {
  if (handle == nullptr) return;
  Worker& worker = *as_endpoint(handle)->worker;
  const Locked lock(worker);
  worker.close_endpoint(as_endpoint(handle));
}

}  // extern "C"
